// The learner without its thread: weights and moments in, one update, weights and moments out. Invariants: an update happens completely or
// not at all; the same state, batch and backend give the same bytes. GRPO has no state besides the checkpoint; REINFORCE also has its
// replay buffer, which is empty after initial() and restore().
import { PlatformError } from '../../streams/core/errors.ts';
import type { Checkpoint, UpdateMetrics } from '../../streams/core/learning.ts';
import { adamToBytes, freshAdam, parseAdam } from './adam.ts';
import type { Packed } from './decisions.ts';
import type { UpdateEngine, LearnerState } from './descend.ts';
import { updateProximal } from './grpo.ts';
import type { Hyper } from './hyper.ts';
import { initialWeights, parseWeights, toBytes, weightCount } from './network.ts';
import { updateReplayed } from './reinforce.ts';
import { createReplay, type ReplayBuffer } from './replay-buffer.ts';
import { createSpill } from './replay-spill.ts';

export interface Updater {
  initial(seed: number): Checkpoint;
  /** Continues from a checkpoint, with other hyperparameters if given. */
  restore(checkpoint: { readonly weights: Uint8Array; readonly optimizer: Uint8Array }, hyper?: Hyper): void;
  train(packed: Packed): Checkpoint & { readonly metrics: UpdateMetrics };
}

/** Where the replay buffer spills what does not fit into memory. */
export interface ReplayFolder {
  readonly directory: string;
  readonly memoryBytes: number;
}

/** An updater in this thread; without a place, the replay buffer stays in memory. */
export function createUpdater(first: UpdateEngine, place?: ReplayFolder): Updater {
  const { architecture } = first;
  let engine = first;
  const count = weightCount(architecture);
  let current: LearnerState | undefined;
  let replay: ReplayBuffer | undefined;
  const begin = (state: LearnerState): void => {
    current = state;
    replay?.close();
    const spill = place === undefined ? {} : { spill: { to: createSpill(place.directory), memoryBytes: place.memoryBytes } };
    replay = createReplay({ hyper: engine.hyper, ...spill });
  };
  return {
    initial(seed) {
      const state = { weights: initialWeights(architecture, seed), adam: freshAdam(count) };
      begin(state);
      return checkpointOf(state);
    },
    restore({ weights, optimizer }, hyper) {
      const state = { weights: parseWeights(architecture, weights), adam: parseAdam(optimizer, count) };
      engine = { ...engine, hyper: hyper ?? engine.hyper };
      begin(state);
    },
    train(packed) {
      if (current === undefined || replay === undefined) {
        throw new PlatformError('INTERNAL', `training step ${packed.step}: there are no weights yet; call initial or restore first`);
      }
      const { state, metrics } =
        engine.hyper.algorithm === 'grpo'
          ? updateProximal(engine, current, packed.decisions)
          : updateReplayed(engine, current, { packed, replay });
      current = state;
      return { ...checkpointOf(state), metrics };
    },
  };
}

const checkpointOf = ({ weights, adam }: LearnerState): Checkpoint => ({ weights: toBytes(weights), optimizer: adamToBytes(adam) });
