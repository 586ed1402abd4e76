// The fields of a turn that rows need. Lists of tokens stay in the bytes of the record until they are copied into a row.
import type { PolicySpan } from '../../schemas/generated/events.ts';
import type { PackedList } from '../../schemas/packed.ts';

export interface TokenTurn {
  /** 0-based. */
  readonly turn: number;
  /** Turn of the same attempt that this prompt continues; -1 = a fresh prompt. */
  readonly branch_parent: number;
  /** Number of tokens that the prompt keeps from its parent's prompt and completion. */
  readonly prompt_keep: number;
  /** The prompt after the kept tokens. */
  readonly prompt_ids: PackedList<Int32Array>;
  /** SHA-256 of all token ids of the prompt, each as 4 bytes, little-endian; hexadecimal. Empty = unknown. */
  readonly prompt_sha256: string;
  /** As the engine counted them. */
  readonly completion_tokens: number;
  readonly token_ids: PackedList<Int32Array>;
  readonly logprobs: PackedList<Float32Array>;
  /** Not 0 = trained on; empty = every completion token is. */
  readonly loss_mask: PackedList<Int32Array>;
  readonly logprobs_kind: string;
  readonly policy_spans: readonly PolicySpan[];
  /** Sampling parameters, JSON; empty = unknown. */
  readonly sampling: string;
  /** True when fields were truncated to fit the record; token ids may be missing. */
  readonly truncated: boolean;
}

/** A turn with the fields of its record that identify it. */
export interface RecordedTurn extends TokenTurn {
  readonly run_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly sequence: number;
  readonly purpose: string;
}

/** One attempt at a trajectory, and what the trainer decided about it. */
export interface TokenTrajectory {
  readonly trajectoryId: string;
  readonly attempt: number;
  readonly groupId: string;
  /** train, eval or external. */
  readonly purpose: string;
  readonly reward: number;
  readonly advantage: number;
  /** In order, without repeats. */
  readonly turns: readonly TokenTurn[];
}
