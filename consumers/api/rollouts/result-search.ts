// Finds the tool calls whose result contains a text. Distinct results are also stored in `result_texts`, where they are searched; a turn
// refers to its result by hash, so that no list reads results. Turns that the warehouse has not indexed yet are searched directly.
import type { Store } from '../../../streams/core/ports.ts';
import { behindMarks, type TableMark } from '../../common/behind-marks.ts';
import { readRows, type SqlCondition } from '../list.ts';

const holds = (column: string): string => `positionCaseInsensitiveUTF8(${column}, {result_holds:String}) > 0`;

/** A condition on the tool calls of a run: the result contains the text, ignoring case. */
export async function resultHolds(store: Store, run: string, text: string): Promise<SqlCondition> {
  const marks = await readRows<TableMark>(store, 'select partition, max(offset) as offset from result_text_marks group by partition');
  const unmarked = behindMarks(marks);
  const tokens = wholeTokens(text);
  // PREWHERE is the same whatever the text, so that the engine remembers which granules have been indexed
  const known = [...tokens.map((_, at) => `hasToken(lower(text), {result_token_${at}:String})`), holds('text')].join(' and ');
  const hashes = `
      select sha256 from result_texts where ${known}
      union all
      select tool_result_sha256 as sha256 from turns
      prewhere run_id = {result_run:String} and ${unmarked.sql}
        and _offset >= transform(_partition, {mark_partitions:Array(Int32)}, {mark_offsets:Array(Int64)}, toInt64(0))
      where ${holds('tool_result')}`;
  const params = {
    result_run: run,
    result_holds: text,
    ...Object.fromEntries(tokens.map((token, at) => [`result_token_${at}`, token])),
    // an empty array has no type
    mark_partitions: marks.length === 0 ? [-1] : marks.map(({ partition }) => partition),
    mark_offsets: marks.length === 0 ? [0] : marks.map(({ offset }) => offset),
    ...unmarked.params,
  };
  const found = await readRows(store, `select 1 from (${hashes}) limit 1`, params);
  // otherwise all calls would be compared with an empty set
  return found.length === 0 ? { sql: 'false', params: {} } : { sql: `result_sha256 in (${hashes})`, params };
}

const MOST_TOKENS = 8;
const SEPARATOR = '[\\x00-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7f]';
const TOKEN = new RegExp(`(?<=${SEPARATOR})[0-9A-Za-z]+(?=${SEPARATOR})`, 'g');

/** The lowercase words that are entirely inside a text: a result that contains the text has them as words. */
export function wholeTokens(text: string): readonly string[] {
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token.toLowerCase());
  return [...new Set(tokens)].sort((a, b) => b.length - a.length).slice(0, MOST_TOKENS);
}
