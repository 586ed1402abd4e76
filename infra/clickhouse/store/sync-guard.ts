// Watches the main thread from another thread. Starting a stream is the only engine call that blocks until the statement is analyzed, and
// the analysis evaluates all constants: meanwhile no timer runs, no health check is answered, and an endless statement would block the
// store forever. In that case this thread kills the process.
import { Worker } from 'node:worker_threads';
import type { WatchedStatement } from './watch.ts';

export interface SyncGuard {
  /** Runs work that may block this thread. */
  run<T>(asked: WatchedStatement, shape: string, work: () => T): T;
  close(): void;
}

/** Independent of the limit of the statement, because the store answers nothing else during that time. */
const LONGEST_MS = 8_000;
const TICK_MS = 500;
const SHAPE_BYTES = 1_000;

/** Plain JavaScript, so that it runs both from source and from a build. `state` is [budget in ms, number of the call]. */
const WATCHER = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const { state, shape, tickMs } = workerData;
let [seen, ticks] = [-1, 0];
setInterval(() => {
  const [budgetMs, call] = [Atomics.load(state, 0), Atomics.load(state, 1)];
  ticks = budgetMs > 0 && call === seen ? ticks + 1 : 0;
  seen = call;
  if (budgetMs === 0 || ticks * tickMs <= budgetMs) return;
  const end = shape.indexOf(0);
  const statement = Buffer.from(shape).toString('utf8', 0, end < 0 ? shape.length : end);
  const msg = 'the store ends: the statement held its thread for over ' + budgetMs + ' ms and cannot be stopped';
  try {
    writeSync(2, JSON.stringify({ level: 50, time: Date.now(), role: 'store', pid: process.pid, statements: [statement], msg }) + '\\n');
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, tickMs);
`;

/** Maximum time for the analysis of a statement, ms. */
const budgetOf = ({ maxSeconds }: WatchedStatement): number =>
  Math.min(LONGEST_MS, maxSeconds === undefined ? LONGEST_MS : 2_000 * maxSeconds + 2_000);

/** Starts the thread. */
export function createSyncGuard(): SyncGuard {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const shape = new Uint8Array(new SharedArrayBuffer(SHAPE_BYTES));
  const worker = new Worker(WATCHER, {
    eval: true,
    workerData: { state, shape, tickMs: TICK_MS },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  worker.on('error', () => undefined);
  let call = 0;
  return {
    run(asked, text, work) {
      shape.fill(0);
      new TextEncoder().encodeInto(text, shape);
      Atomics.store(state, 1, (call = (call + 1) | 0));
      Atomics.store(state, 0, Math.ceil(budgetOf(asked)));
      try {
        return work();
      } finally {
        Atomics.store(state, 0, 0);
      }
    },
    close() {
      void worker.terminate();
    },
  };
}
