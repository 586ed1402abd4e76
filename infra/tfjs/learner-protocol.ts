// Messages between the learner's two threads.
import type { Architecture, UpdateMetrics } from '../../streams/core/learning.ts';
import type { ErrorCode } from '../../streams/core/errors.ts';
import type { Config } from '../config/descriptors.ts';
import type { Packed } from './decisions.ts';
import type { Hyper } from './hyper.ts';
import type { ReplayFolder } from './updater.ts';

/** Start options of the thread. */
export interface LearnerSettings {
  readonly backend: Config['backend'];
  readonly architecture: Architecture;
  readonly hyper: Hyper;
  readonly replay?: ReplayFolder;
  /** As in the configuration: a function cannot be passed to a thread. */
  readonly crashAt?: string;
}

export type LearnerRequest =
  | { readonly kind: 'initial'; readonly seed: number }
  | { readonly kind: 'restore'; readonly weights: Uint8Array; readonly optimizer: Uint8Array; readonly hyper: Hyper }
  | { readonly kind: 'train'; readonly packed: Packed }
  | { readonly kind: 'close' };

export interface LearnerAnswers {
  readonly initial: WireCheckpoint;
  readonly restore: undefined;
  readonly train: WireCheckpoint & { readonly metrics: UpdateMetrics; readonly trainMs: number };
  readonly close: undefined;
}

export interface WireCheckpoint {
  readonly weights: Uint8Array;
  readonly optimizer: Uint8Array;
}

type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type LearnerReply =
  | { readonly kind: 'log'; readonly level: LogLevel; readonly fields: Record<string, unknown>; readonly message: string }
  | { readonly kind: 'ready'; readonly backend: string }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: LearnerAnswers[keyof LearnerAnswers] }
  | { readonly kind: 'refusal'; readonly id: number; readonly code: ErrorCode; readonly message: string };
