import { describe, expect, it } from 'vitest';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { randomEvent, randomEvents, outgoing, seeded } from '../../infra/testing/events.ts';
import { warehouseTopics } from './rows/tables.ts';
import { setUpWarehouse, WarehouseWorld } from './warehouse.testing.ts';

setUpWarehouse();

describe('bad records', () => {
  const topics: readonly EventTopic[] = warehouseTopics.filter((topic) => topic !== 'dead-letters');

  it.each(topics)('end in dead-letters with their bytes and the reason, and the sink continues with %s', async (topic) => {
    const world = new WarehouseWorld();
    const foreign = world.log.codec.encode('DeadLettered', randomEvent('DeadLettered', seeded(9)));
    const values = [null, Buffer.from('{"json":true}'), Buffer.from([0, 1, 2, 3, 4, 5]), foreign.subarray(0, 12), foreign];
    const bad = world.log.appendRaw(
      topic,
      values.map((value) => ({ key: 'k', value, partition: 0, headers: { 'run-id': 'run-a', odd: Buffer.from([255]) } })),
    );
    await world.log.writer().append(randomEvents(30, seeded(5)));
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
    const letters = world.store.rows('dead_letter_events').filter((row) => row['step'] === 'warehouse');
    expect(letters.map((row) => row['reason'])).toEqual(['empty', 'not_framed', 'unknown_schema', 'undecodable', 'wrong_topic']);
    expect(letters.map((row) => row['original_offset'])).toEqual(bad.map(({ offset }) => offset));
    expect(letters.map((row) => row['original_value_base64'])).toEqual(values.map((value) => value?.toString('base64') ?? ''));
    expect(letters[1]).toMatchObject({ original_topic: topic, has_value: true, run_id: 'run-a', header_names: ['run-id', 'odd'] });
    expect(letters[0]).toMatchObject({ has_value: false, original_value_bytes: 0, header_values_base64: ['cnVuLWE=', '/w=='] });
  });

  it('on dead-letters itself become rows and no further dead letters', async () => {
    const world = new WarehouseWorld();
    world.log.appendRaw('dead-letters', [
      { key: null, value: Buffer.from('nonsense') },
      { key: null, value: null },
    ]);
    await world.begin();
    await world.drained();
    expect(world.log.records('dead-letters')).toHaveLength(2);
    expect(world.store.rows('dead_letter_events')).toMatchObject([
      { original_topic: 'dead-letters', original_offset: 0, reason: 'not_framed', _topic: 'dead-letters', _offset: 0 },
      { original_topic: 'dead-letters', original_offset: 1, reason: 'empty', _topic: 'dead-letters', _offset: 1 },
    ]);
  });

  it('that are too large are cut, with a note in the error', async () => {
    const world = new WarehouseWorld();
    world.log.appendRaw('tasks', [
      { key: 'k'.repeat(200_000), partition: 0, value: Buffer.alloc(500, 7), headers: { h: Buffer.alloc(200_000) } },
    ]);
    await world.begin({ deadLetterBytes: 100 });
    await world.drained();
    const [row] = world.store.rows('dead_letter_events');
    expect(row?.['original_value_bytes']).toBe(100);
    expect(row?.['error']).toMatch(
      /value cut to 100 of 500 bytes \(sha256 [0-9a-f]{64}\); key cut to 100000 of 200000 bytes; 1 headers left out/,
    );
  });

  it('that ClickHouse refuses end in dead-letters, and the others of their range are stored', async () => {
    const world = new WarehouseWorld();
    world.store.refuses = (table, row) => table === 'turns' && row['turn'] === 666;
    const random = seeded(6);
    const turn = (number: number) => outgoing('TurnRecorded', randomEvent('TurnRecorded', random, { turn: number, group_id: 'g' }));
    await world.log.writer().append([turn(1), turn(666), turn(2), turn(666), turn(3)]);
    await world.begin();
    await world.drained();
    expect(world.store.rows('turns').map((row) => row['turn'])).toEqual([1, 2, 3]);
    const letters = world.store.rows('dead_letter_events');
    expect(letters.map((row) => row['reason'])).toEqual(['refused', 'refused']);
    expect(letters[0]?.['event_id']).toMatch(/^rollouts\/\d\/1\/turns$/);
    expect(letters[0]?.['error']).toMatch(/constraint is violated/);
    expect(world.store.copies()).toEqual([]);
  });

  it('that the table of dead letters refuses are stored there as refused', async () => {
    const world = new WarehouseWorld();
    world.store.refuses = (table, row) => table === 'dead_letter_events' && row['step'] === 'hostile';
    await world.log.writer().append([outgoing('DeadLettered', randomEvent('DeadLettered', seeded(7), { step: 'hostile' }))]);
    await world.begin();
    await world.drained();
    expect(world.log.records('dead-letters')).toHaveLength(1);
    expect(world.store.rows('dead_letter_events')).toMatchObject([{ reason: 'refused', original_topic: 'dead-letters', _offset: 0 }]);
  });
});
