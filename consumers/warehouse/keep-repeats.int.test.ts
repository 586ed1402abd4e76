// Checks the views of repeated rows against the simplest way to find them, however far the keeper has come.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../infra/clickhouse/client.ts';
import { migratedDatabase, startMigratedStore } from '../../infra/testing/migrated-store.ts';
import type { TestStore } from '../../infra/testing/store.ts';
import type { Row } from '../../streams/core/ports.ts';
import { RepeatKeeper, repeatingTables } from './keep-repeats.ts';
import { tableTopics } from './rows/tables.ts';

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

type RepeatingTable = (typeof repeatingTables)[number];

async function empty(repeating: RepeatingTable): Promise<void> {
  for (const table of [repeating, 'repeated_rows', 'repeat_marks']) await store.command(`truncate table ${table}`);
}

const views = { turns: 'repeated_turns', trajectories: 'repeated_attempts', discarded_trajectories: 'repeated_discards' } as const;
/** The columns that distinguish the events of an attempt. */
const kinds = { turns: 'turn', trajectories: '', discarded_trajectories: 'sequence' } as const;

/** All rows of an event except the first by partition and offset. */
function repeatsOf(table: RepeatingTable, rows: readonly Row[]): readonly string[] {
  const first = new Map<string, Row>();
  const keyOf = (row: Row): string => [row['run_id'], row['trajectory_id'], row['attempt'], row[kinds[table]] ?? ''].join('/');
  const ordered = [...rows].sort(
    (a, b) => Number(a['_partition']) - Number(b['_partition']) || Number(a['_offset']) - Number(b['_offset']),
  );
  for (const row of ordered) if (!first.has(keyOf(row))) first.set(keyOf(row), row);
  return ordered.filter((row) => first.get(keyOf(row)) !== row).map(placeOf);
}

const placeOf = (row: Row): string => `${String(row['_partition'])}:${String(row['_offset'])}`;

async function viewOf(table: RepeatingTable): Promise<readonly string[]> {
  return (await store.query(`select _partition, _offset from ${views[table]} order by _partition, _offset`)).map(placeOf);
}

/** Number of turns that count, their tool_ms, and their tool_queue_ms. */
async function sumsOfTurns(): Promise<readonly number[]> {
  const [sums] = await store.query<{ sums: readonly number[] }>(
    'select [toFloat64(sum(turns)), sum(tool_ms), sum(tool_queue_ms)] as sums from turns_by_version',
  );
  return sums?.sums ?? [];
}

function sumsBeside(rows: readonly Row[], repeats: ReadonlySet<string>): readonly number[] {
  const counted = rows.filter((row) => !repeats.has(placeOf(row)));
  const sum = (column: string): number => counted.reduce((total, row) => total + Number(row[column]), 0);
  return [counted.length, sum('tool_ms'), sum('tool_queue_ms')];
}

const row = fc.record({ run: fc.nat(1), trajectory: fc.nat(3), attempt: fc.nat(1), kind: fc.nat(2), partition: fc.nat(2) });
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ insert: fc.array(row, { minLength: 1, maxLength: 12 }) }) },
  { weight: 2, arbitrary: fc.constant({ insert: undefined }) },
);

it('lists the repeats of each table at any time, however far the keeper has come', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...repeatingTables),
      fc.integer({ min: 1, max: 9 }),
      fc.array(action, { minLength: 2, maxLength: 10 }),
      async (table, most, actions) => {
        await empty(table);
        const rows: Row[] = [];
        const ends = [0, 0, 0];
        for (const { insert } of actions) {
          if (insert === undefined) await new RepeatKeeper({ store }, table, most).round();
          const added = (insert ?? []).map(({ run, trajectory, attempt, kind, partition }): Row => {
            const _offset = ends[partition]!;
            ends[partition]! += 1;
            const place = { _topic: tableTopics[table], _partition: partition, _offset, _timestamp: 0 };
            const which = kinds[table] === '' ? {} : { [kinds[table]]: kind };
            const summed = table === 'turns' ? { tool_ms: _offset, tool_queue_ms: partition } : {};
            return { run_id: `r${run}`, trajectory_id: `t${trajectory}`, attempt, ...which, ...summed, ...place };
          });
          if (added.length > 0) await store.insert(table, added, `rows-${rows.length}`);
          rows.push(...added);
          const repeats = repeatsOf(table, rows);
          expect(await viewOf(table)).toEqual(repeats);
          if (table === 'turns') expect(await sumsOfTurns()).toEqual(sumsBeside(rows, new Set(repeats)));
        }
      },
    ),
    { numRuns: 60 },
  );
});

const turnAt = (_offset: number): Row => ({
  ...{ run_id: 'r', trajectory_id: 't', attempt: 0, turn: 1 },
  ...{ _topic: 'rollouts', _partition: 0, _offset, _timestamp: 0 },
});

it.each([500_000, 1])('finds repeats among rows that appear before its mark, %i offsets a round', async (most) => {
  await empty('turns');
  const keep = async (): Promise<void> => {
    const keeper = new RepeatKeeper({ store }, 'turns', most);
    while ((await keeper.round()).kept > 0);
  };
  await store.insert('turns', [turnAt(7)], 'first');
  await keep();
  await store.insert('turns', [turnAt(3)], 'late');
  await keep();
  expect(await viewOf('turns')).toEqual(['0:7']);
  expect(await store.query('select count() as n from repeated_rows final')).toEqual([{ n: 1 }]);
});

it('counts again now and then, and so finds repeats before its mark without a restart', async () => {
  await empty('turns');
  const keeper = new RepeatKeeper({ store }, 'turns');
  await store.insert('turns', [turnAt(7)], 'first-again');
  await keeper.round();
  await store.insert('turns', [turnAt(3)], 'late-again');
  for (let round = 0; round < 20; round += 1) await keeper.round();
  expect(await viewOf('turns')).toEqual(['0:7']);
});
