// Ends the store when its engine cannot continue. After a fatal error the engine answers every statement with ABORTED forever, and a
// statement that ignores its limits occupies its thread forever: only the end of the process ends both. A broken part of a table is replaced
// at a start only. So the store answers the pending requests, records the offending statement, and kills itself: nothing in the engine can
// block a SIGKILL. Acknowledged data is on disk; the supervisor restarts the process.
import type { Logger } from '../../../streams/core/ports.ts';
import { inTime } from '../../lifecycle/waiting.ts';
import { ClickHouseFailure, failureOf } from '../clickhouse-error.ts';
import type { ClickHouseEngine } from './engine.ts';
import type { BrokenParts } from './broken-parts.ts';
import type { Offenders } from './offenders.ts';
import { shapeOf } from './shape.ts';
import { TICK_MS, type WatchedCall } from './watch.ts';

export interface EngineLife {
  /** Resolves when the engine answers; concurrent callers share one query. Throws otherwise. */
  health(): Promise<void>;
  /** Reports why a statement failed: the engine may be dying, or may need a restart to replace a broken part of a table. */
  suspect(failure: ClickHouseFailure): void;
  /** Ends the process at once. */
  end(reason: string): void;
  /** Stops watching the engine. */
  close(): void;
}

export interface LifeOptions {
  readonly engine: ClickHouseEngine;
  readonly logger: Logger;
  readonly offenders: Offenders;
  readonly brokenParts: BrokenParts;
  /** Ends the process; must not call native code that may hang. */
  readonly die: () => void;
}

/** How long a health check result is reused, ms. */
const FRESH_MS = 500;
/** How long a health check waits for the engine, ms. */
const PATIENCE_MS = 1_500;
/** A dying engine ends unrelated statements within this time, ms. */
const SETTLE_MS = 300;
/** Responses and the log are flushed within this time, ms. */
const FLUSH_MS = 200;
const STATEMENT_CHARS = 1_000;

/** The engine's answer to everything once it is dying, and sometimes before. */
const ABORTED = 236;
const isDying = (error: unknown): boolean => failureOf(error).code === ABORTED;

function stuckFailure({ asked: { maxSeconds } }: WatchedCall): ClickHouseFailure {
  const why = maxSeconds === undefined ? 'still runs long after its sender left' : `outlived twice its limit of ${maxSeconds} s`;
  const message = `The statement ${why} and cannot be stopped: the store ends and is started again`;
  return new ClickHouseFailure(159, 'TIMEOUT_EXCEEDED', message);
}

const dyingFailure = (said: string): ClickHouseFailure =>
  new ClickHouseFailure(
    394,
    'QUERY_WAS_CANCELLED',
    `The engine failed while this statement ran (${said}): the store ends and is started again`,
  );

const brokenFailure = (part: string, { message }: ClickHouseFailure): ClickHouseFailure =>
  new ClickHouseFailure(
    246,
    'CORRUPTED_DATA',
    `The part ${part} cannot be read (${message}): a start replaces it with the parts it was merged from`,
  );

const noAnswer = (): ClickHouseFailure =>
  new ClickHouseFailure(209, 'SOCKET_TIMEOUT', `The engine has not answered within ${PATIENCE_MS} ms`);

/** Starts watching the engine. */
export function watchOver(options: LifeOptions): EngineLife {
  const { engine, logger, offenders, brokenParts, die } = options;
  let state: 'well' | 'dying' | 'ended' = 'well';
  let freshUntil = 0;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    try {
      await engine.probe();
      freshUntil = performance.now() + FRESH_MS;
    } catch (error) {
      if (isDying(error)) endDying(failureOf(error).message);
      throw error;
    }
  }
  const probe = (): Promise<void> =>
    (asking ??= ask().finally(() => {
      asking = undefined;
    }));

  function endDying(said: string): void {
    if (state !== 'well') return;
    state = 'dying';
    // The engine ends unrelated statements within this time; only one that is still running can be the cause.
    setTimeout(() => {
      const suspects = engine.watch.pending().filter(({ asked }) => asked.maxSeconds !== undefined);
      finish(suspects, dyingFailure(said));
    }, SETTLE_MS);
  }

  function finish(offending: readonly WatchedCall[], told: ClickHouseFailure): void {
    if (state === 'ended') return;
    state = 'ended';
    const shapes = offending.map(({ asked }) => shapeOf(asked.sql));
    logger.error({ statements: shapes.map((shape) => shape.slice(0, STATEMENT_CHARS)) }, `the store ends: ${told.message}`);
    offenders.add(shapes);
    const restarts = new ClickHouseFailure(ABORTED, 'ABORTED', 'The store ends and is started again: repeat the statement');
    for (const call of engine.watch.pending()) call.giveUp(offending.includes(call) ? told : restarts);
    setTimeout(die, FLUSH_MS);
  }

  const timer = setInterval(() => {
    const stuck = engine.watch.tick();
    if (stuck !== undefined) finish([stuck], stuckFailure(stuck));
    else if (engine.watch.pending().length > 0) probe().catch(() => undefined);
  }, TICK_MS).unref();

  return {
    health: () => (performance.now() < freshUntil ? Promise.resolve() : inTime(probe(), PATIENCE_MS, noAnswer)),
    suspect(failure) {
      if (failure.code === ABORTED) probe().catch(() => undefined);
      const part = brokenParts.foundIn(failure);
      if (part !== undefined) finish([], brokenFailure(part, failure));
    },
    end(reason) {
      const statements = engine.watch.pending().map(({ asked }) => shapeOf(asked.sql).slice(0, STATEMENT_CHARS));
      logger.error({ statements }, `the store ends: ${reason}`);
      setTimeout(die, FLUSH_MS);
    },
    close() {
      clearInterval(timer);
    },
  };
}
