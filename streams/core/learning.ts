// Ports for learning. Weights travel as bytes, so that one backend can continue where another stopped.

/** A multilayer perceptron with one logit per candidate and tanh between layers. */
export interface Architecture {
  readonly format: 'mlp-f32-v1';
  readonly inputs: number;
  readonly hidden: readonly number[];
}

/** Float32 little-endian weights: for each layer, the matrix (inputs x outputs, row-major), then the bias. */
export interface PolicyWeights {
  readonly version: number;
  readonly architecture: Architecture;
  readonly bytes: Buffer;
}

/** Scores candidates with one policy version; calls made in the same tick are computed as one batch. */
export interface Scorer {
  /** One logit per candidate. `features` is candidates x inputs, row-major. */
  score(features: Float32Array, candidates: number): Promise<Float32Array>;
  dispose(): void;
}

/** Loads policy versions into the tensor backend of this process. */
export interface ScorerFactory {
  /** tfjs-node-gpu, tfjs-node, wasm or cpu. */
  readonly backend: string;
  load(weights: PolicyWeights): Scorer;
}

/** One decision to learn from; the loss treats it as one token. */
export interface TrainingTurn {
  /** float32 little-endian, candidates x width, row-major. */
  readonly features: Buffer;
  readonly candidates: number;
  readonly width: number;
  readonly chosen: number;
  /** Log-probability under the behavior policy. */
  readonly logprob: number;
  /** Policy version that made the decision; -1 = unknown. */
  readonly version: number;
  readonly reward: number;
}

export interface TrainingTrajectory {
  readonly trajectoryId: string;
  readonly reward: number;
  readonly advantage: number;
  readonly turns: readonly TrainingTurn[];
}

export interface TrainingBatch {
  /** The step that trains on this batch: it turns version step-1 into version step. */
  readonly step: number;
  readonly trajectories: readonly TrainingTrajectory[];
}

/** Every value is finite, for any batch. */
export interface UpdateMetrics {
  readonly loss: number;
  readonly approx_kl: number;
  readonly behave_kl: number;
  readonly clip_fraction: number;
  readonly capped_fraction: number;
  readonly ess: number;
  readonly entropy: number;
  readonly grad_norm: number;
}

export interface Checkpoint {
  readonly weights: Buffer;
  /** Moments and step count of the optimizer; empty before the first step. */
  readonly optimizer: Buffer;
}

/** Hyperparameters by name. */
export type LearnerParameters = Readonly<Record<string, string | number>>;

export interface Learner {
  readonly backend: string;
  /**
   * The inputs of an update besides checkpoint and batch. RunStarted records them, so that updates can be repeated without any
   * configuration.
   */
  readonly parameters?: LearnerParameters;
  /** Seeded initial weights: the same seed gives the same bytes on every backend. */
  initial(seed: number): Promise<Checkpoint>;
  /** Continues from a checkpoint, with the recorded parameters if there are any. */
  restore(checkpoint: Checkpoint, recorded?: LearnerParameters): Promise<void>;
  /** Performs one update; deterministic for the same checkpoint, batch and backend. */
  train(batch: TrainingBatch): Promise<Checkpoint & { readonly metrics: UpdateMetrics; readonly trainMs: number }>;
  close(): Promise<void>;
}
