// The skeleton of an attempt: all its turns in one response, one column per figure, without texts. The dashboard draws the list of turns,
// its minimap, and its waterfall from it, and requests texts turn by turn.
import { outlineColumns } from '../../../schemas/rollouts/turn.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { runOf } from './turns.reader.ts';

const ms = (column: string): string => `toUnixTimestamp64Milli(${column})`;

/** SQL over the turns, for figures of several columns. */
const computed = {
  at_ms: `if(generation_ms > 0 and year(tool_started_at) > 1970, ${ms('tool_started_at')} - round(generation_ms), ${ms('occurred_at')} - round(generation_ms))`,
  tool_at_ms: `if(year(tool_started_at) > 1970, ${ms('tool_started_at')}, ${ms('occurred_at')})`,
};

/** Figure of the response → SQL over the turns. */
const figures: Readonly<Record<string, string>> = {
  ...computed,
  ...Object.fromEntries(
    outlineColumns.flatMap((one) => {
      if ('list' in one) return [];
      return [[one.as, one.digits === undefined ? one.column : `round(${one.column}, ${one.digits})`]];
    }),
  ),
};
/** Texts that repeat: each is in its list once, and a column has indexes into that list. */
const listed = outlineColumns.flatMap((one) => ('list' in one ? [one] : []));

/** Names of the columns of the response. */
export const outlineNames: readonly string[] = [...Object.keys(figures), ...listed.map(({ as }) => as)];

export interface TrajectoryOutline {
  readonly run_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly turns: number;
  /** False when there may be more turns than the response has. */
  readonly is_whole: boolean;
  readonly tools: readonly string[];
  readonly statuses: readonly string[];
  readonly error_types: readonly string[];
  readonly workers: readonly string[];
  readonly columns: Readonly<Record<string, readonly (number | null)[]>>;
}

/** Maximum number of turns in a response. */
export const MOST_TURNS = 1_000_000;

/** Undefined when the attempt has no turns. */
export async function readOutline(
  store: Store,
  trajectory: string,
  asked: { readonly run?: string | undefined; readonly attempt?: number | undefined; readonly limit: number },
): Promise<TrajectoryOutline | undefined> {
  const run = asked.run ?? (await runOf(store, trajectory));
  const where = 'run_id = {run:String} and trajectory_id = {trajectory:String} and attempt = {attempt:Int32}';
  const columns = [
    ...Object.entries(figures).map(([name, sql]) => `${sql} as c_${name}`),
    ...listed.map(({ column }) => `toString(${column}) as c_${column}`),
  ];
  const gathered = [
    ...Object.keys(figures).map((name) => `groupArray(c_${name}) as ${name}`),
    ...listed.flatMap(({ list, column }) => [
      `groupUniqArray(c_${column}) as ${list}`,
      `arrayMap(one -> indexOf(${list}, one) - 1, groupArray(c_${column})) as ${column}`,
    ]),
  ];
  const attempt = asked.attempt ?? 0;
  const [row] = await readRows<Readonly<Record<string, readonly never[]>>>(
    store,
    `select ${gathered.join(', ')} from (
       select ${columns.join(', ')} from turns where ${where} order by turn limit 1 by turn limit {most:UInt32}
     ) having count() > 0`,
    { run, trajectory, attempt, most: asked.limit },
  );
  if (row === undefined) return undefined;
  const of = (name: string): readonly never[] => row[name] ?? [];
  const turns = of('turn').length;
  return {
    ...{ run_id: run, trajectory_id: trajectory, attempt, turns, is_whole: turns < asked.limit },
    ...{ tools: of('tools'), statuses: of('statuses'), error_types: of('error_types'), workers: of('workers') },
    columns: Object.fromEntries([
      ...Object.keys(figures).map((name) => [name, of(name)] as const),
      ...listed.map(({ as, column }) => [as, of(column)] as const),
    ]),
  };
}
