// Runs the Learner in a thread of its own, so that the trainer's fold continues while it trains. Calls are answered in order. When the
// thread dies, pending and later calls are rejected with the cause; a trainer then restarts and restores its last published checkpoint. The
// replay buffer of REINFORCE lives only in the thread: it is empty after restore().
import type { Architecture, Learner } from '../../streams/core/learning.ts';
import type { Logger } from '../../streams/core/ports.ts';
import type { Config } from '../config/descriptors.ts';
import { buffersOf, discountedReturns, packBatch } from './decisions.ts';
import { hyperFrom, hyperOf, parametersOf, type Hyper } from './hyper.ts';
import type { WireCheckpoint } from './learner-protocol.ts';
import { openWorker, startThread } from './learner-thread.ts';
import type { ReplayFolder } from './updater.ts';

export interface LearnerOptions {
  readonly architecture: Architecture;
  readonly algorithm: Config['algorithm'];
  readonly learningRate: number;
  readonly backend: Config['backend'];
  /** Overrides of the algorithm's defaults. */
  readonly hyper?: Partial<Hyper>;
  /** Where to store the replay buffer. Default: in memory. */
  readonly replay?: ReplayFolder;
  readonly logger?: Logger;
  /** Crash point at which the thread ends the process. */
  readonly crashAt?: string;
}

/** Starts the learner's thread; throws BACKEND_UNAVAILABLE when its backend cannot be loaded. */
export async function createLearner(options: LearnerOptions): Promise<Learner> {
  const { architecture, backend, logger, replay, crashAt = '' } = options;
  let hyper = hyperOf(options.algorithm, options.learningRate, options.hyper);
  const thread = await startThread(
    openWorker({ backend, architecture, hyper, crashAt, ...(replay === undefined ? {} : { replay }) }),
    logger,
  );
  return {
    backend: thread.backend,
    get parameters() {
      return parametersOf(hyper);
    },
    initial: async (seed) => checkpointOf(await thread.ask({ kind: 'initial', seed })),
    async restore({ weights, optimizer }, recorded) {
      if (recorded !== undefined) hyper = hyperFrom(recorded);
      await thread.ask({ kind: 'restore', weights: new Uint8Array(weights), optimizer: new Uint8Array(optimizer), hyper });
    },
    async train(batch) {
      const packed = packBatch(batch, architecture.inputs, (trajectory) =>
        hyper.algorithm === 'grpo' ? trajectory.turns.map(() => trajectory.advantage) : discountedReturns(trajectory, hyper.discount),
      );
      if (packed.excluded > 0) {
        logger?.warn(
          { step: batch.step, excluded: packed.excluded },
          'decisions left out of the update: malformed or of unknown probability',
        );
      }
      const { metrics, trainMs, ...checkpoint } = await thread.ask({ kind: 'train', packed }, buffersOf(packed.decisions));
      return { ...checkpointOf(checkpoint), metrics, trainMs };
    },
    close: () => thread.close(),
  };
}

const checkpointOf = ({ weights, optimizer }: WireCheckpoint): { weights: Buffer; optimizer: Buffer } => ({
  weights: Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength),
  optimizer: Buffer.from(optimizer.buffer, optimizer.byteOffset, optimizer.byteLength),
});
