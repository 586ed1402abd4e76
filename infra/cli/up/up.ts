// `turnstream up`: everything on one machine, as child processes of this process. `turnstream serve` does the same without a run.
//
// Start order: the log and the store in parallel; the trainer, the workers and the evaluator once the log has its topics; the warehouse and
// the API once the store also has its tables. The stop order is the reverse. This process keeps no state that is not in the log: killing it
// or any of its children at any moment loses nothing.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { PlatformError } from '../../../streams/core/errors.ts';
import { isDiskFull } from '../../lifecycle/disk-full.ts';
import { takeLock } from '../../lifecycle/lock-file.ts';
import { aborted } from '../../lifecycle/waiting.ts';
import { createFleet, type Fleet, type FleetOptions } from '../../app/fleet/fleet.ts';
import { preflight } from './preflight.ts';
import { removeServices } from '../../app/open/services-file.ts';
import { waitUntilDrained } from '../../app/open/drain.ts';

export interface UpOptions extends FleetOptions {
  /** Called when the run is over and all services still answer. */
  readonly onFinished: (fleet: Fleet) => Promise<void>;
  /** Called once all preflight checks have passed. */
  readonly onStarting: () => void;
}

export interface UpHandle {
  /** 'finished': the run ended by itself. 'stopped': the signal aborted first. */
  readonly ended: Promise<'finished' | 'stopped'>;
  /** Sends SIGKILL to every child at once. */
  killAll(): void;
}

const lockPath = (dataDir: string): string => resolve(dataDir, 'up.lock');

/** Starts everything; `ended` settles when everything has stopped. */
export function up(options: UpOptions, signal: AbortSignal): UpHandle {
  let fleet: Fleet | undefined;
  async function run(): Promise<'finished' | 'stopped'> {
    await preflight(options);
    mkdirSync(options.config.dataDir, { recursive: true });
    const release = lockDataDir(options);
    options.onStarting();
    try {
      fleet = createFleet(options);
      return await runFleet(fleet, options, signal);
    } finally {
      removeServices(options.config.dataDir);
      release();
    }
  }
  const ended = run().catch((error: unknown) => {
    throw told(error, options.config.dataDir);
  });
  return { ended, killAll: () => fleet?.killAll() };
}

/** Only the first start fails on a full disk: a running service waits for space. */
const told = (error: unknown, dataDir: string): unknown =>
  isDiskFull(error) ? new PlatformError('DISK_FULL', `starting turnstream in ${dataDir}: the disk is full`, { cause: error }) : error;

function lockDataDir({ config, training }: UpOptions): () => void {
  const lock = takeLock(lockPath(config.dataDir), training === undefined ? 'serve' : `up of ${training.run}`);
  if (lock.taken) return lock.release;
  throw new PlatformError(
    'DATA_DIR_IN_USE',
    `starting turnstream in ${config.dataDir}: process ${lock.owner.pid} (${lock.owner.purpose}) uses it already; stop that one, or set TURNSTREAM_DATA_DIR`,
  );
}

async function runFleet(fleet: Fleet, options: UpOptions, signal: AbortSignal): Promise<'finished' | 'stopped'> {
  const stopped = aborted(signal).then(() => 'stopped' as const);
  const over = new AbortController();
  try {
    return await Promise.race([wholeRun(fleet, options, over.signal), stopped, fleet.failed]);
  } finally {
    over.abort();
    options.progress.phase('stopping');
    options.onChange('stopping', {});
    await fleet.stopAll();
  }
}

/** `over` aborts when the run must not continue: anything that settles afterwards settles because of the shutdown. */
async function wholeRun(fleet: Fleet, options: UpOptions, over: AbortSignal): Promise<'finished'> {
  const { progress, onChange, training } = options;
  await fleet.startAll();
  progress.phase('');
  if (training === undefined) onChange('serving', {});
  await fleet.trainer.done;
  over.throwIfAborted();
  onChange('trained', { run: training?.run });
  if (training?.evaluate === true && !fleet.endedEarly()) {
    progress.phase('answering the held-out questions with the trained policy');
    await fleet.evaluateAfter();
    over.throwIfAborted();
  }
  progress.phase('storing the remaining records in the tables');
  const { kafkaBrokers } = fleet.addresses();
  await waitUntilDrained({ ...options.config, kafkaBrokers }, options.logger, over);
  over.throwIfAborted();
  await options.onFinished(fleet);
  return 'finished';
}
