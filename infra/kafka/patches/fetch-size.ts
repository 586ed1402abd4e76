// Limits a fetch by the size of its records without compression.
//
// Reason: the limits of a fetch are bytes of the response. Turns need four to five times as much memory as their compressed bytes, and
// repetitive ones a hundred times, so a reader that catches up would have several hundred MB of them. Where memory is slow, a trainer that
// restarts also needs 4 % more CPU time, because its records have left the CPU caches before they are handled.
// Upstream: not reported; the protocol has no other limit. https://kafka.apache.org/protocol#The_Messages_Fetch
import type { FetchedRecord } from '../records/record-batches.ts';
import type { GroupMember } from './out-of-range.ts';

/** A member of a consumer group of kafkajs, as far as this patch needs it. */
interface FetchingMember extends GroupMember {
  maxBytes: number;
  maxBytesPerPartition: number;
  fetch(nodeId: string): Promise<readonly { readonly rawMessages: readonly FetchedRecord[] }[]>;
}

export type FetchingClass = new (...options: never[]) => FetchingMember;

/** Smallest limit, bytes: every fetch has a fixed cost. */
const LEAST_BYTES = 262_144;

/** Expected of the first fetch: compressed bytes per byte. */
const USUAL_SHARE = 1 / 4;

const limit = (bytes: number, share: number): number => Math.min(bytes, Math.max(LEAST_BYTES, Math.floor(bytes * share)));

/** Expects the records of a fetch to be compressed like those of the previous one. */
export const fetchSizeOf = (Original: FetchingClass): FetchingClass =>
  class extends Original {
    readonly #maxBytes = this.maxBytes;
    readonly #maxBytesPerPartition = this.maxBytesPerPartition;

    constructor(...options: never[]) {
      super(...options);
      this.#expect(USUAL_SHARE);
    }

    override async fetch(nodeId: string): ReturnType<FetchingMember['fetch']> {
      const batches = await super.fetch(nodeId);
      let [packed, plain] = [0, 0];
      for (const { rawMessages } of batches) {
        packed += rawMessages[0]?.part.packedBytes ?? 0;
        plain += rawMessages[0]?.part.plainBytes ?? 0;
      }
      if (plain > 0) this.#expect(packed / plain);
      return batches;
    }

    #expect(share: number): void {
      this.maxBytes = limit(this.#maxBytes, share);
      this.maxBytesPerPartition = limit(this.#maxBytesPerPartition, share);
    }
  };
