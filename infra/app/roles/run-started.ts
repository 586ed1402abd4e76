// Reads how a run was started from the first entry of its ledger, and checks that a worker's settings match.
import { assertWorkerSettings } from '../../../consumers/trainer/settings.ts';
import type { RunStarted } from '../../../schemas/generated/events.ts';
import { runEvents } from '../../../streams/core/read-log.ts';
import type { Config } from '../../config/descriptors.ts';
import { pause } from '../../lifecycle/waiting.ts';
import type { LogConnection } from '../open/connections.ts';
import { settingsWithCode } from './worker-identity.ts';

/** Undefined when the run has not begun. */
export async function runStartedOf({ kafka, events }: LogConnection, run: string): Promise<RunStarted | undefined> {
  const start = await kafka.runs.startOf(run);
  if (start === undefined) return undefined;
  const source = { log: kafka.reader(), events, runId: run };
  for await (const read of runEvents(source, 'training', { from: new Map([[0, start.training]]) })) {
    return read.ok && read.value.type === 'RunStarted' ? read.value.event : undefined;
  }
  return undefined;
}

const LOOK_MS = 1_000;

interface Fitting {
  readonly log: LogConnection;
  readonly run: string;
  readonly config: Config;
  readonly signal: AbortSignal;
}

/**
 * Throws RUN_CONFLICT when the run was started with other worker settings. If the run has not begun, the check happens when it begins;
 * `begun` settles with its result.
 */
export async function assertFitting(fitting: Fitting): Promise<{ readonly begun: Promise<void> }> {
  if (await look(fitting)) return { begun: Promise.resolve() };
  return { begun: lookOn(fitting) };
}

/** False while the run has not begun. */
async function look({ log, run, config }: Fitting): Promise<boolean> {
  const started = await runStartedOf(log, run);
  if (started !== undefined) assertWorkerSettings(await settingsWithCode(config), started);
  return started !== undefined;
}

async function lookOn(fitting: Fitting): Promise<void> {
  while (!fitting.signal.aborted) {
    await pause(LOOK_MS, fitting.signal);
    if (await look(fitting)) return;
  }
}
