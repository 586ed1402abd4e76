// Keeps `tool_figures` filled for large runs: blocks of versions that are no longer in use. If such a block grows after all, it is computed
// again, and until then readers compute it.
import type { Row } from '../../streams/core/ports.ts';
import { allToolBlocksSql, toolFigureParams, toolFiguresSql } from '../common/tool-figures.ts';
import { keeperSettings as settings, NOTHING_KEPT, type KeeperDeps, type Round } from './keep-step-figures.ts';

/** Below this, querying the turns is as fast. */
export const TURNS_OF_LARGE_RUN = 200_000;
/** Blocks of a run that may still grow. */
export const OPEN_BLOCKS = 2;
const TURNS_AT_ONCE = 100_000;
/** Blocks that one query lists. */
const MOST_BLOCKS = 64;

interface RunBlock {
  readonly run_id: string;
  readonly block: number;
  readonly turns: number;
}

export class ToolFigureKeeper {
  readonly #deps: Pick<KeeperDeps, 'store'>;
  readonly #least: number;

  constructor(deps: Pick<KeeperDeps, 'store'>, leastTurns = TURNS_OF_LARGE_RUN) {
    this.#deps = deps;
    this.#least = leastTurns;
  }

  /** Adds the figures of some blocks of one run. */
  async round(): Promise<Round> {
    const { store } = this.#deps;
    const open = await store.query<RunBlock>(
      `select run_id, block, turns from (${allToolBlocksSql}) where block <= newest - ${OPEN_BLOCKS}
         and (run_id, block, turns) not in (select run_id, block, turns from tool_figures)
       order by run_id, block limit ${MOST_BLOCKS}`,
      { params: { least: this.#least }, settings },
    );
    const run = open[0]?.run_id ?? '';
    const blocks = few(open.filter(({ run_id }) => run_id === run));
    if (blocks.length === 0) return NOTHING_KEPT;
    const params = toolFigureParams(
      run,
      blocks.map(({ block }) => block),
      0,
    );
    const found = await store.query(toolFiguresSql, { params, settings });
    const made = blocks.flatMap(({ block, turns }) => {
      const own = found.filter((row) => Number(row['block']) === block);
      return own.length === 0 ? [emptyRow(run, { block, turns })] : own.map((row): Row => rowOf(run, turns, row));
    });
    await store.insert('tool_figures', made, `tools-${run}-${blocks.map(({ block, turns }) => `${block}:${turns}`).join('-')}`);
    return { kept: blocks.length, isBehind: blocks.length < open.length || open.length === MOST_BLOCKS };
  }
}

/** The first blocks, up to the number of turns that one statement may read. */
function few(blocks: readonly RunBlock[]): readonly RunBlock[] {
  let turns = 0;
  return blocks.filter(({ turns: own }, at) => {
    turns += own;
    return at === 0 || turns <= TURNS_AT_ONCE;
  });
}

function rowOf(run: string, turns: number, { since: _since, ...row }: Row): Row {
  return { ...row, run_id: run, turns };
}

/** Marks a block without calls as processed. */
const emptyRow = (run: string, { block, turns }: Pick<RunBlock, 'block' | 'turns'>): Row => ({
  ...{
    run_id: run,
    block,
    turns,
    purpose: '',
    tool: '',
    status: '',
    error_type: '',
    calls: 0,
    cache_hits: 0,
    truncated_results: 0,
    ms_sum: 0,
    ms_max: 0,
  },
  ...{ ms_buckets: [], ms_calls: [], result_chars_sum: 0, slowest_arguments: '', first_at: 0, last_at: 0 },
});
