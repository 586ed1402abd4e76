// Waits until the sink has stored what pages read from derived tables. A page that is requested earlier computes what is missing.
import { setTimeout as sleep } from 'node:timers/promises';
import { allToolBlocksSql } from '../../consumers/common/tool-figures.ts';
import { repeatingTables } from '../../consumers/warehouse/keep-repeats.ts';
import { TURNS_OF_LARGE_RUN, OPEN_BLOCKS } from '../../consumers/warehouse/keep-tool-figures.ts';
import type { Store } from '../../streams/core/ports.ts';
import { say } from './local-bench.ts';
import { whole } from './report.ts';

/** Counts the rows of a table that no mark covers. A mark is the offset of a partition before which the rows have been processed. */
const beyond = (table: string, marks: string): string => `
  with (select groupArray((partition, offset)) from (select partition, max(offset) as offset from ${marks} group by partition)) as marks
  select count() as open from ${table} where _offset >= transform(_partition, marks.1, marks.2, toInt64(0))`;

/** For each kind of derived data, a statement that counts what is not stored yet. */
const OPEN: Readonly<Record<string, string>> = {
  'figures of steps': 'select count() as open from steps where (run_id, step) not in (select run_id, step from step_figures)',
  'figures of tools': `select count() as open from (${allToolBlocksSql}) where block <= newest - ${OPEN_BLOCKS}
    and (run_id, block, turns) not in (select run_id, block, turns from tool_figures)`,
  'texts of results': beyond('turns', 'result_text_marks'),
  ...Object.fromEntries(
    repeatingTables.map((table) => [`repeats in ${table}`, beyond(table, `(select * from repeat_marks where table_name = '${table}')`)]),
  ),
};

export async function untilKept(store: Store, signal: AbortSignal): Promise<void> {
  for (const [what, sql] of Object.entries(OPEN)) {
    const open = async (): Promise<number> =>
      (await store.query<{ open: number }>(sql, { params: { least: TURNS_OF_LARGE_RUN } }))[0]?.open ?? 0;
    for (let left = await open(); left > 0; left = await open()) {
      say(`${what}: ${whole(left)} are not stored yet`);
      await sleep(5_000, undefined, { signal });
    }
  }
}
