// The contract of a store's holdings, for the in-memory store and for the engine.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Holdings, Top } from '../../consumers/warehouse/holdings.ts';
import type { Row, Store } from '../../streams/core/ports.ts';

export interface HoldingsUnderTest {
  readonly store: Store;
  readonly holdings: Holdings;
}

const row = (partition: number, offset: number): Row => ({
  run_id: 'run-a',
  _topic: 'rollouts',
  _partition: partition,
  _offset: offset,
  _timestamp: 1_790_000_000_000 + offset,
});

const top = (offset: number): Top => ({ offset, timestampMs: 1_790_000_000_000 + offset });

/** `connect` returns a store with the project's tables, empty. */
export function holdingsContract(name: string, connect: () => Promise<HoldingsUnderTest>): void {
  describe(`holdings: ${name}`, () => {
    let world: HoldingsUnderTest;
    const insert = (table: string, rows: readonly Row[], token: string) => world.store.insert(table, rows, token);

    beforeAll(async () => {
      world = await connect();
      await insert('heartbeats', [row(0, 5), row(0, 6), row(1, 40)], 'beats');
      await insert('trajectory_starts', [row(0, 6), row(0, 9)], 'starts');
      await insert(
        'step_trajectories',
        [
          { ...row(0, 7), _topic: 'training' },
          { ...row(0, 7), _topic: 'training' },
        ],
        'trained',
      );
    });

    it('report the greatest offset over all tables of a topic, of the partitions that are asked for', async () => {
      const tops = (from: Record<number, number>) =>
        world.holdings.tops('rollouts', new Map(Object.entries(from).map(([partition, offset]) => [Number(partition), offset])));
      expect(await tops({ 0: -1, 1: -1, 2: -1 })).toEqual(new Map([[0, top(9)], [1, top(40)]])); // prettier-ignore
      expect(await tops({ 0: 10, 1: 40 })).toEqual(new Map([[1, top(40)]]));
      expect(await tops({ 1: 41 })).toEqual(new Map());
      expect(await tops({})).toEqual(new Map());
    });

    it('report when each record was written', async () => {
      expect(await world.holdings.times('rollouts', 0, 6)).toEqual(new Map([6, 9].map((offset) => [offset, top(offset).timestampMs])));
    });

    it('report the number of rows of each record within bounds', async () => {
      const held = (table: 'heartbeats' | 'step_trajectories', topic: 'rollouts' | 'training', max: number) =>
        world.holdings.held(table, topic, [{ partition: 0, min: 6, max }, { partition: 1, min: 0, max: 40 }]); // prettier-ignore
      expect(await held('heartbeats', 'rollouts', 9)).toEqual(new Map([['0/6', 1], ['1/40', 1]])); // prettier-ignore
      expect(await held('step_trajectories', 'training', 7)).toEqual(new Map([['0/7', 2]]));
      expect(await held('step_trajectories', 'training', 6)).toEqual(new Map());
    });

    it('know every topic, also one that fills a single table', async () => {
      expect(await world.holdings.tops('tasks', new Map([[0, -1]]))).toEqual(new Map());
    });

    it('erase the rows of records within bounds, and no others', async () => {
      await insert('heartbeats', [row(3, 1), row(3, 2), row(4, 2)], 'to be erased');
      await world.holdings.erase('heartbeats', 'rollouts', [{ partition: 3, min: 2, max: Number.MAX_SAFE_INTEGER }]);
      expect(await world.holdings.tops('rollouts', new Map([[3, -1], [4, -1]]))).toEqual(new Map([[3, top(1)], [4, top(2)]])); // prettier-ignore
    });

    it('end running inserts, also when there are none', async () => {
      await world.holdings.endInserts(['heartbeats'], [0, 1]);
      expect(world.holdings.idOf('heartbeats', [0, 1])).not.toBe(world.holdings.idOf('heartbeats', [0, 1]));
    });
  });
}
