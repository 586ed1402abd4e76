// Runs beside a sink and maintains the figures that lists and charts read. Its queries count as a reader's in the store; it writes only a
// few rows now and then, so that the sink never waits for it.
import { messageOf } from '../../streams/core/errors.ts';
import type { Clock, Logger } from '../../streams/core/ports.ts';
import { StepFigureKeeper, type KeeperDeps, type Round } from './keep-step-figures.ts';
import { ResultTextKeeper } from './keep-result-texts.ts';
import { RepeatKeeper, repeatingTables } from './keep-repeats.ts';
import { ToolFigureKeeper } from './keep-tool-figures.ts';

/** The derived tables; they may be truncated at any time and are filled again. */
export const keptTables = ['step_figures', 'tool_figures', 'result_texts', 'result_text_marks', 'repeated_rows', 'repeat_marks'] as const;

const ROUND_MS = 20_000;
/** A keeper that is behind runs rounds for this long before the next keeper does. */
const TURN_MS = 2_000;
/** Pause between rounds, as a multiple of their duration: maintenance costs a bounded share of a thread, however large the tables are. */
const [PACE, PACE_BEHIND] = [20, 1];

interface KeeperOptions extends KeeperDeps {
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts, which also ends a running query. If the store does not answer, it retries later: the figures can wait. */
export async function keepFigures({ logger, signal, store, clock }: KeeperOptions): Promise<void> {
  const deps: KeeperDeps = {
    store: {
      query: (sql, options) => store.query(sql, { ...options, signal }),
      insert: (table, rows, token) => store.insert(table, rows, token),
    },
    clock,
  };
  const keepers = [
    ...repeatingTables.map((table) => new RepeatKeeper(deps, table)),
    new StepFigureKeeper(deps),
    new ToolFigureKeeper(deps),
    new ResultTextKeeper(deps),
  ];
  while (!signal.aborted) {
    const began = clock.monotonic();
    let isBehind = false;
    for (const keeper of keepers) {
      try {
        if (await keepFor(TURN_MS, keeper, clock)) isBehind = true;
      } catch (error) {
        logger.debug({ error: messageOf(error) }, 'keeping figures failed, trying again');
      }
    }
    await clock.sleep(pauseAfter(clock.monotonic() - began, isBehind), signal);
  }
}

interface Keeper {
  round(): Promise<Round>;
}

/** One round, and more of them while there is more to keep and time left. Resolves to whether the keeper is behind. */
export async function keepFor(ms: number, keeper: Keeper, clock: Pick<Clock, 'monotonic'>): Promise<boolean> {
  const until = clock.monotonic() + ms;
  let isBehind = true;
  do ({ isBehind } = await keeper.round());
  while (isBehind && clock.monotonic() < until);
  return isBehind;
}

export const pauseAfter = (roundMs: number, isBehind: boolean): number =>
  isBehind ? PACE_BEHIND * roundMs : Math.max(ROUND_MS, PACE * roundMs);
