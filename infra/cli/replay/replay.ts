// Replays steps of a run for the command line. With `train`, updates run again on the backend that made them, because other backends do not
// give bit-identical weights.
import type { OpenLearner } from '../../../consumers/trainer/replay-train.ts';
import { replayRun, type ReplayTotal, type StepReplay } from '../../../consumers/trainer/replay.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { rolloutView } from '../../../streams/trajectory/rollout-view.ts';
import type { Config } from '../../config/descriptors.ts';
import { backendNames, type BackendName } from '../../tfjs/backend.ts';
import { createLearner } from '../../tfjs/learner.ts';
import { learningOf } from '../../app/roles/trainer/learning-of.ts';
import { fileWeights } from '../../app/roles/weights.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface ReplayRequest {
  readonly run: string;
  readonly first: number;
  /** Infinity: up to the last recorded step. */
  readonly last: number;
  readonly train: boolean;
  /** The backend that repeats updates. Default: the one that made them. */
  readonly backend: BackendName | undefined;
  readonly fromStart: boolean;
  readonly logger: Logger;
  readonly onStep: (step: StepReplay, of: number) => void;
}

/** Replays, and returns how many steps were replayed and how many differ. */
export function replaySteps(config: Config, request: ReplayRequest): Promise<ReplayTotal> {
  const { run, logger } = request;
  return withLog({ config, logger, purpose: 'replay' }, async (log, found) =>
    replayRun(
      {
        runId: run,
        log: log.kafka.reader(),
        // rows of leased batches are built from the raw bytes of their turns
        events: log.eventsThrough({ late: ['TurnRecorded'] }),
        rollouts: log.eventsThrough({ view: rolloutView }),
        weights: fileWeights(found.dataDir),
        ...(request.train ? { openLearner: learnerOpener(config, request) } : {}),
      },
      { first: request.first, last: request.last, fromStart: request.fromStart },
      request.onStep,
    ),
  );
}

const isBackend = (name: string): name is BackendName => (backendNames as readonly string[]).includes(name);

/** Settings that an older run did not record come from the current configuration. */
function learnerOpener(config: Config, { run, backend: wanted, logger }: ReplayRequest): OpenLearner {
  return async ({ architecture, backend: recorded, step }) => {
    const backend = wanted ?? recorded;
    const other = '--backend <name> repeats it on another one and reports how much the weights differ';
    const doing = `repeating step ${step} of run ${run}: it was made on ${recorded}`;
    if (!isBackend(backend)) throw new PlatformError('BACKEND_UNAVAILABLE', `${doing}, which this version does not know; ${other}`);
    try {
      return await createLearner({ architecture, ...learningOf(config), backend, logger });
    } catch (cause) {
      if (!isPlatformError(cause, 'BACKEND_UNAVAILABLE') || wanted !== undefined) throw cause;
      throw new PlatformError('BACKEND_UNAVAILABLE', `${doing}, and only that backend gives equal weights (${cause.message}); ${other}`, {
        cause,
      });
    }
  };
}
