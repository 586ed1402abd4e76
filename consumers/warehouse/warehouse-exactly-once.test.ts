import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { eventually, GROUP, setUpWarehouse, ticks, WarehouseWorld } from './warehouse.testing.ts';

setUpWarehouse();

describe('exactly once', () => {
  it('does not insert again what was stored before a crash', async () => {
    const world = new WarehouseWorld();
    let hang = true;
    world.store.afterInsert = () => (hang ? new Promise(() => undefined) : undefined);
    await world.log.writer().append(randomEvents(60, seeded(12), ['TurnRecorded', 'TrajectoryFinished']));
    const first = await world.begin();
    await eventually(() => {
      expect(world.store.asked).not.toEqual([]);
    });
    const [token] = world.store.asked;
    first.kill();
    hang = false;
    await world.begin({ batchRecords: 3 });
    await world.drained();
    expect(world.store.asked.filter((asked) => asked === token)).toHaveLength(1);
    world.expectExactlyOnce();
  });

  it('repeats an unfinished insert under the same token, after it ended the one that is still running', async () => {
    const world = new WarehouseWorld();
    world.store.remembersTokens = false;
    let thaw = (): void => undefined;
    const frozen = new Promise<void>((resolve) => (thaw = resolve));
    world.store.beforeInsert = () => frozen;
    await world.log.writer().append(randomEvents(60, seeded(12), ['TurnRecorded']));
    const first = await world.begin();
    await eventually(() => {
      expect(world.store.asked).not.toEqual([]);
    });
    const [token] = world.store.asked;
    first.kill();
    world.store.beforeInsert = () => undefined;
    await world.begin();
    await world.drained();
    expect(world.store.asked.filter((asked) => asked === token)).toHaveLength(2);
    thaw();
    await ticks(20);
    world.expectExactlyOnce();
  });

  it('lets two members each repeat their own part of an unfinished bundle', async () => {
    const world = new WarehouseWorld();
    world.store.remembersTokens = false;
    world.store.beforeInsert = () => new Promise(() => undefined);
    await world.log.writer().append(randomEvents(90, seeded(16), ['TurnRecorded']));
    const first = await world.begin({ batchRecords: 1_000, maxWaitMs: 60_000 });
    await world.log.idle();
    void first.warehouse.stop();
    await eventually(() => {
      expect(world.store.asked).toHaveLength(1);
    });
    const announcements = new Set((await world.log.offsets.fetch(GROUP, 'rollouts')).map(({ metadata }) => metadata));
    expect([...announcements]).toEqual([expect.stringMatching(/^v2:0:0:\d+,1:0:\d+,2:0:\d+$/)]);
    first.kill();
    world.store.beforeInsert = () => undefined;
    await Promise.all([world.begin({ batchRecords: 3 }), world.begin({ batchRecords: 4 })]);
    await world.drained();
    world.expectExactlyOnce();
  });

  it('inserts only the missing rows of an interrupted insert, whether or not the tables remember tokens', async () => {
    for (const remembers of [true, false]) {
      const world = new WarehouseWorld();
      world.store.remembersTokens = remembers;
      let tears = 2;
      world.store.tears = () => (tears -= 1) >= 0;
      await world.log.writer().append(randomEvents(200, seeded(18)));
      await world.begin();
      await world.drained();
      expect(tears).toBeLessThan(0);
      world.expectExactlyOnce();
    }
  });

  it('continues after the rows in the tables when the broker has lost its offsets', async () => {
    const world = new WarehouseWorld();
    world.store.remembersTokens = false;
    await world.log.writer().append(randomEvents(300, seeded(19)));
    const { warehouse } = await world.begin();
    await world.drained();
    await warehouse.stop();
    world.log.forgetOffsets(GROUP);
    await world.log.writer().append(randomEvents(100, seeded(20)));
    await world.begin({ batchRecords: 13 });
    await world.drained();
    world.expectExactlyOnce();
  });

  it('stores rows under another token when the one of their range was used for rows that are gone', async () => {
    const world = new WarehouseWorld();
    const written = await world.log.writer().append(randomEvents(30, seeded(21), ['TurnRecorded']));
    const { warehouse } = await world.begin({ maxWaitMs: 60_000 });
    await world.log.idle();
    await warehouse.stop();
    world.store.tables.clear();
    const from = [...new Set(written.map(({ partition }) => partition))].map((partition) => {
      const records = world.log.records('rollouts').filter((record) => record.partition === partition);
      return { topic: 'rollouts' as const, partition, offset: 0, metadata: `v1:0:${records.at(-1)!.offset}` };
    });
    world.log.setOffsets(GROUP, from);
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
  });

  it('asks for its partitions again when a commit is refused and no rebalance follows', async () => {
    const world = new WarehouseWorld();
    world.traps.push({
      port: 'commit',
      when: 'before',
      left: 1,
      spring: () => {
        throw new PlatformError('GROUP_FENCED', 'refused by a test');
      },
    });
    await world.begin();
    await world.log.writer().append(randomEvents(60, seeded(14)));
    await eventually(() => {
      expect(world.traps).toEqual([]);
    });
    await world.log.writer().append(randomEvents(60, seeded(15)));
    await world.drained();
    world.expectExactlyOnce();
  });
});
