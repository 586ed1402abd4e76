import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader } from '../../streams/core/ports.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { randomEvent, randomEvents, outgoing, seeded } from '../../infra/testing/events.ts';
import { createRecordingLogger } from '../../infra/testing/logger.ts';
import { createWarehouse } from './warehouse.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';
import { eventually, GROUP, setUpWarehouse, WarehouseWorld } from './warehouse.testing.ts';

setUpWarehouse();

describe('the warehouse', () => {
  it('stores every record of every topic once', async () => {
    const world = new WarehouseWorld();
    await world.log.writer().append(randomEvents(400, seeded(1)));
    const { statuses } = await world.begin();
    await world.drained();
    world.expectExactlyOnce();
    const stored = [...world.store.tables.values()].flat().length;
    await eventually(() => {
      expect(statuses.at(-1)).toMatchObject({ state: 'live', detail: '', figures: { lag: 0, rows_total: stored } });
    });
  });

  it('skips transaction markers and aborted records', async () => {
    const world = new WarehouseWorld();
    const writer = await world.log.transactional('t');
    await writer.commit({ events: randomEvents(20, seeded(2)) });
    world.log.appendAborted('rollouts', 1, 30);
    await writer.commit({ events: randomEvents(20, seeded(3)) });
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
  });

  it('stores a turn before a task that came with it', async () => {
    const world = new WarehouseWorld();
    const random = seeded(6);
    const [task, turn] = [randomEvent('TrajectoryRequested', random), randomEvent('TurnRecorded', random)];
    await world.log.writer().append([outgoing('TrajectoryRequested', task), outgoing('TurnRecorded', turn)]);
    await world.begin({ maxWaitMs: 100 });
    await world.drained();
    expect(world.store.asked.map((token) => token.split('-').at(-1))).toEqual(['turns', 'tasks']);
  });

  it('stores the buffered records when it is stopped', async () => {
    const world = new WarehouseWorld();
    await world.log.writer().append(randomEvents(50, seeded(4)));
    const { warehouse } = await world.begin({ maxWaitMs: 60_000, batchRecords: 1_000 });
    await world.log.idle();
    expect(world.store.asked).toEqual([]);
    await warehouse.stop();
    await world.drained();
    world.expectExactlyOnce();
    await expect(warehouse.finished).resolves.toBeUndefined();
  });
});

describe('trouble', () => {
  it('waits while the store is full, reports it, limits its memory, and loses nothing', async () => {
    const world = new WarehouseWorld();
    let away = true;
    world.store.beforeInsert = () => {
      if (away) throw new PlatformError('STORE_FULL', 'inserting into turns: no space left');
    };
    const { statuses, lines } = await world.begin({ maxBufferedBytes: 2_000, batchBytes: 500 });
    await world.log.writer().append(randomEvents(600, seeded(8)));
    await eventually(() => {
      expect(statuses.at(-1)).toMatchObject({ state: 'waiting', detail: expect.stringMatching(/no space left/) as string });
    });
    const before = await world.log.offsets.fetch(GROUP, 'rollouts');
    expect(before.every(({ offset }) => offset <= 0)).toBe(true);
    away = false;
    await world.drained();
    world.expectExactlyOnce();
    await eventually(() => {
      expect(statuses.at(-1)).toMatchObject({ state: 'live', detail: '' });
    });
    expect(lines.filter((line) => line.level === 'warn')).toHaveLength(1);
  });

  it('ends with the error when the store refuses for a reason other than a row', async () => {
    const world = new WarehouseWorld();
    world.store.beforeInsert = () => {
      throw new PlatformError('STORE_REFUSED', 'inserting into turns: unknown table', { context: { clickhouseCode: 60 } });
    };
    await world.log.writer().append(randomEvents(5, seeded(9)));
    const { warehouse, statuses } = await world.begin();
    await expect(warehouse.finished).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    expect(statuses.at(-1)).toMatchObject({ state: 'failed' });
    expect((await world.log.offsets.fetch(GROUP, 'rollouts')).every(({ offset }) => offset <= 0)).toBe(true);
  });

  it('stops at once during an outage', async () => {
    const world = new WarehouseWorld();
    world.store.beforeInsert = () => {
      throw new PlatformError('STORE_UNAVAILABLE', 'inserting: nobody answers');
    };
    await world.log.writer().append(randomEvents(5, seeded(10)));
    const { warehouse, statuses } = await world.begin({ retryMs: { min: 60_000, max: 60_000 } });
    await eventually(() => {
      expect(statuses.at(-1)?.state).toBe('waiting');
    });
    await warehouse.stop();
    expect(statuses.at(-1)?.state).toBe('stopping');
  });

  it('retries an unavailable registry, with heartbeats', async () => {
    const world = new WarehouseWorld();
    let calls = 0;
    const reader: EventReader = {
      read: async (record) => {
        calls += 1;
        if (calls < 4) throw new PlatformError('REGISTRY_UNAVAILABLE', 'asking for schema 7');
        return world.reader.read(record);
      },
    };
    await world.log.writer().append(randomEvents(5, seeded(11)));
    await world.begin({}, reader);
    await world.drained();
    world.expectExactlyOnce();
  });

  it('does not start while the store is unavailable, and gives up when it is aborted', async () => {
    const world = new WarehouseWorld();
    world.store.query = async () => {
      throw new PlatformError('STORE_UNAVAILABLE', 'asking: nobody answers');
    };
    const abort = new AbortController();
    const log = world.log;
    const warehouse = createWarehouse({
      group: log.group(),
      offsets: log.offsets,
      log: log.reader(),
      deadLetters: log.writer(),
      reader: world.reader,
      store: world.store,
      holdings: world.store.holdings(),
      clock: systemClock,
      logger: createRecordingLogger(),
      metrics: noMetrics,
      report: () => undefined,
      options: { group: GROUP, producer: 'warehouse/test', batchRecords: 10, maxWaitMs: 2, retryMs: { min: 1, max: 1 } },
    });
    const starting = warehouse.start(abort.signal);
    abort.abort(new Error('told to'));
    await expect(starting).rejects.toThrow('told to');
  });
});
