// `turnstream export --what rows`: exports one group at a time, so memory holds the tokens of one group.
import { encodeRows, type RowFormat } from '../../../consumers/common/rows/encode.ts';
import {
  asTrained,
  groupRows,
  membersStatement,
  tokensStatement,
  trainedStatement,
  type RewardedTrajectory,
  type TokenColumns,
  type TrainedMember,
} from '../../../consumers/exports/row-shapes.ts';
import type { QueryOptions, Store } from '../../../streams/core/ports.ts';
import type { TokenRow } from '../../../streams/rows/row.ts';

export interface RowsExport {
  readonly store: Store;
  readonly format: RowFormat;
  /** One expression over the columns of trajectories; undefined for all. */
  readonly condition: string | undefined;
  /** Maximum number of rows. */
  readonly limit: number;
  readonly params: Readonly<Record<string, unknown>>;
  readonly settings: QueryOptions['settings'];
  readonly signal: AbortSignal;
  readonly send: (bytes: Buffer, rows: number) => Promise<void>;
}

/** Trajectories per query. */
const MEMBERS = 500;

export async function exportRows(work: RowsExport): Promise<{ readonly rows: number; readonly leftOut: number }> {
  let [rows, leftOut] = [0, 0];
  async function* all(): AsyncGenerator<TokenRow, void, undefined> {
    for await (const counted of groupsOf(work)) {
      const members = asTrained(counted, await queryOf<TrainedMember>(work, trainedStatement, counted));
      const turns = await queryOf<TokenColumns>(work, tokensStatement, members);
      for (const own of groupRows(members, turns, rows)) {
        if (own === undefined) leftOut += 1;
        for (const row of own ?? []) {
          if (rows >= work.limit) return;
          rows += 1;
          yield row;
        }
      }
    }
  }
  for await (const bytes of encodeRows(all(), work.format)) await work.send(bytes, rows);
  return { rows, leftOut };
}

/** Yields each group as a whole. */
async function* groupsOf(work: RowsExport): AsyncGenerator<readonly RewardedTrajectory[]> {
  let members: RewardedTrajectory[] = [];
  for await (const member of membersOf(work)) {
    if (members.length > 0 && members[0]?.group_id !== member.group_id) {
      yield members;
      members = [];
    }
    members.push(member);
  }
  if (members.length > 0) yield members;
}

async function* membersOf({ store, condition, params, settings, signal }: RowsExport): AsyncGenerator<RewardedTrajectory> {
  const sql = membersStatement(condition);
  for (let after = { group: '', id: '' }; ;) {
    const options = { params: { ...params, ...after, units: MEMBERS }, signal, ...(settings === undefined ? {} : { settings }) };
    const found = await store.query<RewardedTrajectory>(sql, options);
    yield* found;
    const last = found.at(-1);
    if (last === undefined || found.length < MEMBERS) return;
    after = { group: last.group_id, id: last.trajectory_id };
  }
}

/** Rows about the wanted members of a group. */
async function queryOf<T extends object>(
  { store, params, settings, signal }: RowsExport,
  sql: string,
  members: readonly RewardedTrajectory[],
): Promise<readonly T[]> {
  const ids = members.filter(({ wanted }) => wanted).map((member) => member.trajectory_id);
  if (ids.length === 0) return [];
  return store.query<T>(sql, { params: { ...params, ids }, signal, ...(settings === undefined ? {} : { settings }) });
}
