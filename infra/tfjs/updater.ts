// The learner without its thread: weights and moments in, one update, weights and moments out. Invariants: an update
// happens as a whole or not at all; the same state, batch and backend give the same bytes. GRPO has no other state than
// the checkpoint; REINFORCE has its replay buffer as well, which starts empty with initial() and restore().
import { PlatformError } from '../../streams/core/errors.ts';
import type { Checkpoint, UpdateMetrics } from '../../streams/core/learning.ts';
import { adamToBytes, freshAdam, parseAdam } from './adam.ts';
import type { Packed } from './decisions.ts';
import type { Engine, State } from './descend.ts';
import { updateProximal } from './grpo.ts';
import type { Hyper } from './hyper.ts';
import { initialWeights, parseWeights, toBytes, weightCount } from './network.ts';
import { updateReplayed } from './reinforce.ts';
import { createReplay, type Replay } from './replay-buffer.ts';
import { createSpill } from './replay-spill.ts';

export interface Updater {
  initial(seed: number): Checkpoint;
  /** Goes on from a checkpoint; with other hyper-parameters when they are given. */
  restore(checkpoint: { readonly weights: Uint8Array; readonly optimizer: Uint8Array }, hyper?: Hyper): void;
  train(packed: Packed): Checkpoint & { readonly metrics: UpdateMetrics };
}

/** What of the replay buffer does not fit into memory goes there. */
export interface ReplayPlace {
  readonly directory: string;
  readonly memoryBytes: number;
}

/** An updater in this thread; without a place the replay buffer is in memory alone. */
export function createUpdater(first: Engine, place?: ReplayPlace): Updater {
  const { architecture } = first;
  let engine = first;
  const count = weightCount(architecture);
  let current: State | undefined;
  let replay: Replay | undefined;
  const begin = (state: State): void => {
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

const checkpointOf = ({ weights, adam }: State): Checkpoint => ({ weights: toBytes(weights), optimizer: adamToBytes(adam) });
