// A run of random attempts whose rows reach the tables piece by piece: each topic and each table at its own pace, some rows twice.
import fc from 'fast-check';
import type { Row, Store } from '../../streams/core/ports.ts';

const TOPICS = {
  rollouts: ['trajectory_starts', 'turns', 'trajectories'],
  training: ['step_trajectories', 'collected_trajectories', 'discarded_trajectories', 'expired_attempts'],
};

export const tablesOfAttempts: readonly string[] = Object.values(TOPICS).flat();

interface TableRow {
  readonly table: string;
  readonly row: Row;
}

/** A table and how many of its next rows are inserted. */
interface InsertedRows {
  readonly table: string;
  readonly rows: number;
}

export interface GrowingRun {
  readonly run: string;
  readonly records: readonly TableRow[];
  readonly inserts: readonly InsertedRows[];
}

const BEGIN_MS = Date.UTC(2026, 10, 20, 8);
const at = (ms: number): string => new Date(BEGIN_MS + ms).toISOString().replace('T', ' ').replace('Z', '000');

const turn = fc.record({
  tool: fc.constantFrom('', 'search', 'search', 'access'),
  tool_status: fc.constantFrom('ok', 'ok', 'ok', 'error', 'timeout'),
  ms: fc.integer({ min: 1, max: 40_000 }),
  cache_hit: fc.boolean(),
});

const attempt = fc.record({
  group: fc.nat(20),
  number: fc.nat(2),
  worker: fc.constantFrom('worker-a', 'worker-b', 'worker-c'),
  purpose: fc.constantFrom('train', 'train', 'train', 'eval'),
  start: fc.nat(600_000),
  /** Between the start event and the `started_at` of the finish event, ms. */
  skew: fc.nat(900),
  flight: fc.integer({ min: 1, max: 90_000 }),
  turns: fc.array(turn, { maxLength: 4 }),
  status: fc.constantFrom('answered', 'answered', 'max_turns', 'timeout', 'failed', 'cancelled'),
  reward: fc.constantFrom(0, 0.25, 1),
  told: fc.constantFrom('start', 'finish', 'both', 'both', 'both'),
  fates: fc.subarray(['trained', 'collected', 'discarded', 'expired'] as const, { maxLength: 2 }),
  staleness: fc.nat(8),
  version: fc.nat(200),
  repeats: fc.subarray(['trajectory_starts', 'turns', 'trajectories', 'step_trajectories'] as const, { maxLength: 1 }),
});

type MadeAttempt = typeof attempt extends fc.Arbitrary<infer T> ? T : never;

export const growingRun = (run: string): fc.Arbitrary<GrowingRun> =>
  fc
    .tuple(fc.array(attempt, { minLength: 10, maxLength: 60 }), fc.array(fc.nat(9), { minLength: 30, maxLength: 60 }))
    .map(([attempts, sizes]) => {
      const records = attempts.flatMap((one, index) => recordsOf(run, { ...one, index }));
      return { run, records, inserts: insertsOf(records, sizes) };
    });

function recordsOf(run: string, one: MadeAttempt & { readonly index: number }): readonly TableRow[] {
  const { group, number, index, worker, purpose, start, skew, flight, told, fates, version, staleness } = one;
  const id = { run_id: run, group_id: `${run}-g${group}`, trajectory_id: `${run}-g${group}.${index % 4}`, attempt: number * 100 + index };
  const ran = { ...id, purpose, worker_id: worker, question_id: `q${group}` };
  const began = told === 'finish' ? [] : [{ table: 'trajectory_starts', row: { ...ran, occurred_at: at(start) } }];
  const turns = one.turns.map(({ ms, ...turn_ }, n) => {
    const call = {
      ...turn_,
      turn: n,
      tool_ms: ms / 8,
      tool_error_type: turn_.tool_status === 'ok' ? '' : 'broken',
      policy_version_max: version,
    };
    return { table: 'turns', row: { ...ran, ...call, tool_arguments: `{"n":${index}}`, occurred_at: at(start + n * 5_000) } };
  });
  const ended = { status: one.status, reward: one.reward, turns: turns.length, tool_calls: turns.length, tool_errors: turns.length % 2 };
  const times = { started_at: at(start + skew), finished_at: at(start + skew + flight), version_first: version, version_last: version };
  const finished = told === 'start' ? [] : [{ table: 'trajectories', row: { ...ran, ...ended, ...times } }];
  const entry = { ...id, at: at(start + flight + 20_000) };
  const decided = {
    ...entry,
    staleness_total: staleness,
    reward: one.reward,
    turns: turns.length,
    tokens: 10 * index,
    advantage: index / 8,
  };
  const decisions = fates.map((fate) => {
    if (fate === 'trained') return { table: 'step_trajectories', row: { ...decided, step: version + 1, sequence: version } };
    if (fate === 'collected') return { table: 'collected_trajectories', row: { ...decided, batch: version + 1, sequence: version } };
    if (fate === 'discarded')
      return {
        table: 'discarded_trajectories',
        row: { ...discard(decided), version, sequence: index, reason: index % 3 === 0 ? 'lost' : 'stale' },
      };
    return { table: 'expired_attempts', row: { ...entry, sequence: index, reason: index % 2 === 0 ? 'silent' : 'refused' } };
  });
  const all: readonly TableRow[] = [...began, ...turns, ...finished, ...decisions];
  return all.flatMap((record) => ((one.repeats as readonly string[]).includes(record.table) ? [record, record] : [record]));
}

/** Rows of discarded trajectories have no advantage. */
const discard = ({ advantage: _, ...decided }: Row): Row => decided;

/** The rows of each table in order of offset, in pieces of the given sizes. */
function insertsOf(records: readonly TableRow[], sizes: readonly number[]): readonly InsertedRows[] {
  const left = new Map(tablesOfAttempts.map((table) => [table, records.filter((record) => record.table === table).length]));
  const inserts = sizes.map((size, at_) => ({ table: tablesOfAttempts[(size * 7 + at_) % tablesOfAttempts.length] ?? '', rows: size }));
  const taken = inserts.map(({ table, rows }) => {
    const some = Math.min(rows, left.get(table) ?? 0);
    left.set(table, (left.get(table) ?? 0) - some);
    return { table, rows: some };
  });
  return [...taken, ...[...left].map(([table, rows]) => ({ table, rows }))].filter(({ rows }) => rows > 0);
}

/** Inserts a run step by step; the rows of a topic have the offsets of its records. */
export async function* insertGrowing(store: Store, { run, records, inserts }: GrowingRun): AsyncGenerator<InsertedRows, void, undefined> {
  const rows = new Map<string, Row[]>(tablesOfAttempts.map((table) => [table, []]));
  for (const [topic, tables] of Object.entries(TOPICS)) {
    records
      .filter(({ table }) => tables.includes(table))
      .forEach(({ table, row }, offset) => {
        const partition = topic === 'training' ? 0 : Number(/g(\d+)\./.exec(String(row['trajectory_id']))?.[1] ?? 0) % 3;
        const place = { _topic: topic, _partition: partition, _offset: offset, _timestamp: at(offset), event_id: `${table}-${offset}` };
        rows.get(table)?.push({ ...row, ...place });
      });
  }
  for (const insert of inserts) {
    const own = rows.get(insert.table)?.splice(0, insert.rows) ?? [];
    const [{ _partition, _offset } = {}] = own;
    await store.insert(insert.table, own, `grow-${run}-${insert.table}-${String(_partition)}-${String(_offset)}`);
    yield insert;
  }
}
