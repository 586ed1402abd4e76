// At any time, incrementally updated figures equal those computed from all rows of the run, however the rows come in.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import { selectList } from './columns.ts';
import { readRows } from './list.ts';
import { wallClockColumns, workerColumns } from './reports/reports.columns.ts';
import { readWallClock } from './reports/reports.reader.ts';
import { wallClockSql, workersSql } from './reports/reports.sql.ts';
import { readWorkers } from './reports/workers.reader.ts';
import { growingRun, insertGrowing, tablesOfAttempts } from './run-fold.testing.ts';
import { histogramFigures, readHistograms } from './runs/histogram.reader.ts';
import { histogramsOf } from './runs/histogram.testing.ts';
import { readTool, type OneTool } from './runs/tool.reader.ts';
import { mergedFlowOf } from './watch/flow-merged.testing.ts';
import { readMergedFlow } from './watch/flow-merged.reader.ts';
import { countsSql, readRunCounts } from './watch/weather.fold.ts';
import { readWeather } from './watch/weather.reader.ts';

let engine: TestStore;
let store: ClickHouseStore;

beforeAll(async () => {
  engine = await startMigratedStore();
  store = connectStore({ url: engine.url, database: migratedDatabase });
});

afterAll(async () => {
  await store.close();
  await engine.stop();
});

/** Sums of fractions differ in their last digits with the order of their terms. */
const rounded = (rows: unknown): unknown =>
  JSON.parse(JSON.stringify(rows, (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(10)) : value)));

const workersOf = (run: string, purpose: string): Promise<readonly object[]> =>
  readRows(store, `select ${selectList(workerColumns)} from (${workersSql})`, { run, purpose });

/** The calls of a tool without percentiles, which are estimated for large runs. */
const exactOf = ({ ms_p50: _50, ms_p95: _95, ms_p99: _99, error_types, ...exact }: OneTool): object => ({
  ...exact,
  error_types: error_types.map(({ ms_p50: _, ...error }) => error),
});

const clockOf = (run: string, range: { readonly from_step: number; readonly to_step: number }): Promise<readonly object[]> =>
  readRows(store, `select ${selectList(wallClockColumns)} from (${wallClockSql})`, { run, purpose: '', ...range });

async function assertEqual(run: string, purposes: readonly (undefined | 'eval')[] = [undefined]): Promise<void> {
  for (const purpose of purposes) {
    for (const points of [3, 200]) {
      expect(await readMergedFlow(store, run, { points, purpose })).toEqual(await mergedFlowOf(store, run, { points, purpose }));
    }
    expect(rounded(await readWorkers(store, { run, purpose }))).toEqual(rounded(await workersOf(run, purpose ?? '')));
  }
  // figures of a range are computed from its rows
  expect(await readWeather(store, run, { points: 30 })).toEqual(
    await readWeather(store, run, { points: 30, from: '2000-01-01T00:00:00Z' }),
  );
  const counted = await readRunCounts(store, run);
  if (counted !== undefined) {
    const { every, spans } = counted;
    const inOrder = [...spans].sort((a, b) => (a.tool === b.tool ? a.span - b.span : a.tool < b.tool ? -1 : 1));
    expect(inOrder).toEqual(await readRows(store, countsSql('turns where run_id = {run:String}'), { run, every }));
  }
  const [kept, read] = [
    await readTool(store, { run, tool: 'search', leastTurns: 0 }),
    await readTool(store, { run, tool: 'search', leastTurns: Infinity }),
  ];
  expect(exactOf(kept)).toEqual(exactOf(read));
  for (const range of [
    { from_step: 0, to_step: 1_000_000 },
    { from_step: 3, to_step: 20 },
    { from_step: 7, to_step: 1_000_000 },
  ]) {
    expect(rounded(await readWallClock(store, { run, purpose: undefined }, range))).toEqual(rounded(await clockOf(run, range)));
    const asked = { ...range, bins: 7, of: histogramFigures };
    expect(await readHistograms(store, run, asked)).toEqual(await histogramsOf(store, run, asked));
  }
}

let runs = 0;
const rewind = (run: string): Promise<void> =>
  store.command(
    `insert into rewinds (run_id, version, abandoned, _topic, _timestamp) select '${run}', 300, range(3, 40), 'training', now64(3)`,
  );

/** Inserts all rows of a new run at once. */
async function insertedRun(): Promise<string> {
  const run = `grow-${(runs += 1)}`;
  const [growing] = fc.sample(growingRun(run), { numRuns: 1, seed: 11 });
  if (growing === undefined) throw new Error('there is no sample');
  for await (const _ of insertGrowing(store, { ...growing, inserts: tablesOfAttempts.map((table) => ({ table, rows: Infinity })) }));
  return run;
}

describe('figures that are kept up to date', { timeout: 300_000 }, () => {
  it('equal those of all rows after each insert', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constant(0).chain(() => growingRun(`grow-${(runs += 1)}`)),
        fc.integer({ min: 4, max: 9 }),
        async (growing, pace) => {
          let inserts = 0;
          await rewind(growing.run);
          for await (const _ of insertGrowing(store, growing)) if ((inserts += 1) % (pace + 1) === 0) await assertEqual(growing.run);
          await assertEqual(growing.run, [undefined, 'eval']);
        },
      ),
      { numRuns: 2, endOnFailure: true, seed: 7 },
    );
  });

  it('equal those of all rows after rows were deleted, changed, and stored late', async () => {
    const run = await insertedRun();
    await assertEqual(run);
    const others = `insert into trajectories select * replace (concat(trajectory_id, '-late') as trajectory_id) from trajectories where run_id = '${run}' order by _offset limit 2`;
    await rewind(run);
    await assertEqual(run);
    for (const statement of [
      others,
      `alter table trajectories delete where run_id = '${run}' and _offset % 3 = 0 settings mutations_sync = 2`,
      `alter table trajectories update worker_id = 'worker-z' where run_id = '${run}' and _offset % 2 = 0 settings mutations_sync = 2`,
      ...tablesOfAttempts.map((table) => `truncate table ${table}`),
    ]) {
      await store.command(statement);
      await assertEqual(run);
    }
  });

  it('count an attempt as late only if it ended after it was given up', async () => {
    const run = await insertedRun();
    const lateFor = async (reason: string): Promise<readonly boolean[]> => {
      await store.command(`alter table expired_attempts update reason = '${reason}' where run_id = '${run}' settings mutations_sync = 2`);
      const reports = [await workersOf(run, ''), await readWorkers(store, { run, purpose: undefined })];
      return reports.map((rows) => rows.some((row) => Number('late' in row ? row.late : 0) > 0));
    };
    for (const reason of ['silent', 'wall_clock', 'lost_claim']) expect([reason, await lateFor(reason)]).toEqual([reason, [true, true]]);
    for (const reason of ['unusable', 'refused', 'reward_timeout'])
      expect([reason, await lateFor(reason)]).toEqual([reason, [false, false]]);
  });
});
