// Reports a position that the log does not have, instead of moving it.
//
// Reason: for such a position, kafkajs commits the first or the last offset of the partition and reports this only in its log: records are
// skipped or read twice. A group that registers a listener keeps its offset, and the position is requested again until the listener has
// decided.
// Upstream: https://github.com/tulios/kafkajs/issues/1119.
import { pause } from '../../lifecycle/waiting.ts';
import type { KafkajsMembership } from './heartbeats.ts';

/** A position that the log does not have. */
export interface OutOfRange {
  readonly topic: string;
  readonly partition: number;
  /** Of the group. */
  readonly memberId: string;
}

/** Listeners by group. */
export const outOfRangeListeners = new Map<string, Set<(at: OutOfRange) => void>>();

/** A member of a consumer group of kafkajs, as far as this patch needs it. */
export interface GroupMember extends KafkajsMembership {
  readonly groupId: string;
  readonly memberId: string;
  recoverFromOffsetOutOfRange(error: { readonly topic: string; readonly partition: number }): Promise<void>;
}

export type GroupMemberClass = new (...options: never[]) => GroupMember;

const PAUSE_MS = 100;

export const groupMemberOf = (Original: GroupMemberClass): GroupMemberClass =>
  class extends Original {
    override async recoverFromOffsetOutOfRange(error: { readonly topic: string; readonly partition: number }): Promise<void> {
      const listeners = outOfRangeListeners.get(this.groupId);
      if (listeners === undefined) return super.recoverFromOffsetOutOfRange(error);
      for (const tell of listeners) tell({ topic: error.topic, partition: error.partition, memberId: this.memberId });
      await pause(PAUSE_MS);
    }
  };
