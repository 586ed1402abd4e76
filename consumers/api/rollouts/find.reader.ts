// Finds the turns of a trajectory that contain a text. The store searches the texts of this attempt only; the page gets positions and
// excerpts.
import type { Store } from '../../../streams/core/ports.ts';
import { readRows } from '../list.ts';
import { holds, partOf, soughtParams, type Sought } from './sought.ts';
import { runOf } from './turns.reader.ts';

/** Texts of a turn in reading order. */
const fields = ['text', 'tool_arguments', 'tool_result', 'tool_error_type'] as const;

interface TurnMatch {
  readonly turn: number;
  readonly field: string;
  /** Position of the first match in the field, characters from 0. */
  readonly offset: number;
  /** Excerpt around the match. */
  readonly head: string;
  /** The matched text. */
  readonly match: string;
}

export interface TurnMatches {
  readonly run_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly items: readonly TurnMatch[];
  /** Number of turns found, at most `limit` + 1; `items` has at most `limit` of them. */
  readonly turns: number;
  readonly is_whole: boolean;
}

const BEFORE = 40;
const HEAD = 160;
const MOST_SECONDS = 10;

export async function findInTrajectory(
  store: Store,
  trajectory: string,
  asked: Sought & { readonly run?: string | undefined; readonly attempt?: number | undefined; readonly limit: number },
): Promise<TurnMatches> {
  const run = asked.run ?? (await runOf(store, trajectory));
  const attempt = asked.attempt ?? 0;
  const rows = await readRows<{ turn: number; field: string; place: number; head: string; part: string }>(
    store,
    `select turn, field, head, part, place from (
     select turn, ['${fields.join("', '")}'][which] as field, [${fields.join(', ')}][which] as whole, ${partOf('whole', asked)} as part,
       positionUTF8(whole, part) as place, substringUTF8(whole, greatest(1, place - ${BEFORE}), ${HEAD}) as head
     from (
       select turn, ${fields.join(', ')},
         arrayFirstIndex(one -> one, [${fields.map((field) => holds(field, asked)).join(', ')}]) as which
       from turns
       where run_id = {run:String} and trajectory_id = {trajectory:String} and attempt = {attempt:Int32}
     )
     where which > 0 order by turn limit 1 by turn limit {most:UInt32}) order by turn settings max_execution_time = ${MOST_SECONDS}`,
    { run, trajectory, attempt, ...soughtParams(asked), most: asked.limit + 1 },
  );
  const items = rows.slice(0, asked.limit).map(({ turn, field, place, head, part }) => ({
    ...{ turn, field, offset: Math.max(0, place - 1), head, match: part.slice(0, HEAD) },
  }));
  return { run_id: run, trajectory_id: trajectory, attempt, items, turns: rows.length, is_whole: rows.length <= asked.limit };
}
