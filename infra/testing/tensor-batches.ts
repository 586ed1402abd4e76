// Batches of random decisions for tests of tensors.
import type { Architecture, Checkpoint, TrainingBatch, TrainingTrajectory, TrainingTurn } from '../../streams/core/learning.ts';
import { seeded } from './events.ts';
import type { Random } from '../../streams/core/random.ts';

export const architecture: Architecture = { format: 'mlp-f32-v1', inputs: 6, hidden: [16, 8] };

export const featureBytes = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);

export const uniform = (random: Random): number => 2 * random() - 1;

export function turnOf(random: Random, candidates: number): TrainingTurn {
  const features = featureBytes(Array.from({ length: candidates * architecture.inputs }, () => uniform(random)));
  const chosen = Math.floor(random() * candidates);
  return { features, candidates, width: architecture.inputs, chosen, logprob: -Math.log(candidates), version: 0, reward: 0 };
}

/** Trajectories of different lengths with decisions of different sizes. */
export function batchOf(seed: number, { trajectories = 12, step = 1 } = {}): TrainingBatch {
  const random = seeded(seed);
  const rows = Array.from({ length: trajectories }, (_, i): TrainingTrajectory => {
    const turns = Array.from({ length: 1 + (i % 5) }, () => turnOf(random, 1 + Math.floor(random() * 30)));
    return { trajectoryId: `t${i}`, reward: random(), advantage: uniform(random), turns };
  });
  return { step, trajectories: rows };
}

export const weightsOf = (checkpoint: Checkpoint): { version: number; architecture: Architecture; bytes: Buffer } => ({
  version: 0,
  architecture,
  bytes: checkpoint.weights,
});
