// Keeps `step_figures` filled. A step is added once all data behind its figures is stored; that data never changes. Two processes that add
// the same step write the same row, which the table holds once. Queries count as a reader's in the store; only a few rows are written, so
// that the sink never waits.
import { createHash } from 'node:crypto';
import type { Clock, Row, Store } from '../../streams/core/ports.ts';
import { figureColumns, stepFiguresSql } from '../common/step-figures.ts';

/** Steps per statement: a few thousand trajectories. */
const STEPS_AT_ONCE = 64;
const CANDIDATES = 2_000;
/** How long to wait before checking a step again whose trajectories or turns were incomplete. */
const RETRY_MS = [10_000, 60_000, 600_000] as const;

interface PendingStep {
  readonly run_id: string;
  readonly step: number;
}

export interface KeeperDeps {
  readonly store: Pick<Store, 'query' | 'insert'>;
  readonly clock: Clock;
}

/** The result of one round. */
export interface Round {
  /** Number of processed items: steps, blocks or offsets. */
  readonly kept: number;
  /** There was more work than one round handles. */
  readonly isBehind: boolean;
}

export const NOTHING_KEPT: Round = { kept: 0, isBehind: false };

interface StepRetry {
  readonly tries: number;
  readonly untilMs: number;
}

export const keeperSettings = { max_execution_time: 60, max_threads: 1, priority: 10, output_format_json_quote_denormals: 1 } as const;

const BEGINNING: PendingStep = { run_id: '', step: -1 };

export class StepFigureKeeper {
  readonly #deps: KeeperDeps;
  /** Incomplete steps, by run and step. */
  readonly #waiting = new Map<string, StepRetry>();
  /** The search for open steps continues after this step, so that no number of incomplete steps can hide the others. */
  #after = BEGINNING;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  /** Adds the figures of some steps. */
  async round(): Promise<Round> {
    const open = await this.#open();
    const now = this.#deps.clock.monotonic();
    const due = open.filter(({ run_id, step }) => (this.#waiting.get(keyOf(run_id, step))?.untilMs ?? 0) <= now);
    const [first] = due;
    if (first === undefined) return this.#lookFurther(open);
    const steps = due.filter(({ run_id, step }) => run_id === first.run_id && step < first.step + STEPS_AT_ONCE).map(({ step }) => step);
    await this.#keep(first.run_id, steps);
    return { kept: steps.length, isBehind: steps.length < due.length };
  }

  async #open(): Promise<readonly PendingStep[]> {
    const { run_id: run, step } = this.#after;
    return this.#deps.store.query<PendingStep>(
      `select distinct run_id, step from steps where (run_id, step) not in (select run_id, step from step_figures)
       and (run_id, step) > ({run:String}, {step:Int32}) order by run_id, step limit {most:UInt32}`,
      { params: { run, step, most: CANDIDATES }, settings: keeperSettings },
    );
  }

  /** None of the open steps is due: the next round searches after them, or from the beginning if they include the last. */
  #lookFurther(open: readonly PendingStep[]): Round {
    const isLast = open.length < CANDIDATES;
    if (isLast && this.#after === BEGINNING) this.#forget(open);
    this.#after = isLast ? BEGINNING : (open.at(-1) ?? BEGINNING);
    return { kept: 0, isBehind: !isLast };
  }

  #forget(open: readonly PendingStep[]): void {
    const keys = new Set(open.map(({ run_id, step }) => keyOf(run_id, step)));
    for (const key of this.#waiting.keys()) if (!keys.has(key)) this.#waiting.delete(key);
  }

  async #keep(run: string, steps: readonly number[]): Promise<void> {
    const { store, clock } = this.#deps;
    const params = { run, from_step: Math.min(...steps), to_step: Math.max(...steps) };
    const found = await store.query(stepFiguresSql, { params, settings: keeperSettings });
    const whole = found.filter((row) => Number(row['is_whole']) === 1 && steps.includes(Number(row['step'])));
    const rows = whole.map((row): Row => ({ run_id: run, step: row['step'] ?? 0, ...pick(row) }));
    if (rows.length > 0) await store.insert('step_figures', rows, tokenOf(run, rows));
    const kept = new Set(whole.map((row) => Number(row['step'])));
    for (const step of kept) this.#waiting.delete(keyOf(run, step));
    for (const step of steps) if (!kept.has(step)) this.#wait(keyOf(run, step), clock.monotonic());
  }

  #wait(key: string, nowMs: number): void {
    const tries = this.#waiting.get(key)?.tries ?? 0;
    this.#waiting.set(key, { tries: tries + 1, untilMs: nowMs + (RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 0) });
  }
}

const keyOf = (run: string, step: number): string => `${run}/${step}`;

const pick = (row: Row): Row => Object.fromEntries(figureColumns.map((name) => [name, row[name] ?? 0]));

const tokenOf = (run: string, rows: readonly Row[]): string =>
  `figures-${run}-${createHash('sha256').update(JSON.stringify(rows)).digest('hex').slice(0, 24)}`;
