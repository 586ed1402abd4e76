// The end of a run, and its continuation. A run that has made its planned steps ends with RunFinished. If more steps are requested later,
// it continues with RunContinued, like any run that was stopped.
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import { EXTERNAL } from '../../streams/run/fold.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { Committer } from './committer.ts';
import type { TrainerDeps } from './deps.ts';

type RunEndDeps = Pick<TrainerDeps, 'runId' | 'settings' | 'ends' | 'logger'>;

/** The message for a run that has ended. */
export const runFinished = (run: string, steps: number): PlatformError =>
  new PlatformError(
    'RUN_FINISHED',
    `resuming run ${run}: it finished after step ${steps}. \`turnstream serve\` opens it and every other run, \`turnstream up --run ${run} --steps ${2 * steps}\` trains it on up to that step, another --run starts a new one`,
  );

/** Throws RUN_FINISHED if the run has finished, unless more steps are requested than it has made. */
export async function assertOpen(deps: RunEndDeps, { finished }: RunState): Promise<void> {
  if (finished === undefined) return;
  const made = Math.max(finished.steps, finished.batches);
  if (deps.settings.steps > made) return;
  await noteEnd(deps, made);
  throw runFinished(deps.runId, made);
}

/** Throws RUN_CONFLICT when an external trainer would continue a run of the built-in one, or the other way around. */
export function assertSameTrainer({ runId, external }: Pick<TrainerDeps, 'runId' | 'external'>, { started }: RunState): void {
  if (started === undefined || (started.backend === EXTERNAL) === (external !== undefined)) return;
  const trainer = external === undefined ? EXTERNAL : 'built-in';
  throw new PlatformError('RUN_CONFLICT', `resuming run ${runId}: it was started with TURNSTREAM_TRAINER=${trainer}`);
}

/** Records that the run is continued. A crash at any point leaves no note of an end that is no longer valid. */
export async function continueRun({ ends, settings, logger }: RunEndDeps, { version }: RunState, committer: Committer): Promise<void> {
  await ends?.remove();
  await committer.append([{ type: 'RunContinued', fields: { steps: settings.steps, version } }]);
  logger.info({ version, steps: settings.steps }, 'continuing a finished run');
}

/** If the note cannot be written, the next start only takes longer. */
export async function noteEnd({ ends, logger }: Pick<RunEndDeps, 'ends' | 'logger'>, steps: number): Promise<void> {
  await ends?.write(steps).catch((error: unknown) => {
    logger.warn({ error: messageOf(error) }, 'the end of the run could not be noted; the next start of it reads the ledger to see that');
  });
}
