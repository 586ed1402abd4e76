// Checks whether a member still owns its partitions: the group confirms it by accepting an announcement. The check runs before a flush, and
// again when an insert starts long after it, because this process may have been frozen and replaced meanwhile.
import { PlatformError } from '../../streams/core/errors.ts';
import type { Clock, GroupSession } from '../../streams/core/ports.ts';
import type { OffsetCommit } from './bundle.ts';
import { patiently, type Patience } from './patience.ts';

export interface Fence {
  /** Announces what is to be inserted; throws GROUP_FENCED when the partitions belong to another member. */
  ask(): Promise<void>;
  /** Calls `ask` unless the last confirmation is recent. */
  ensure(): Promise<void>;
  /** Throws when nothing may be sent: the generation is over, or the last confirmation is too old, and the next attempt asks again. */
  assertFresh(): void;
}

interface FenceDeps {
  readonly session: GroupSession;
  readonly patience: Patience;
  readonly clock: Clock;
  /** How long a confirmation of the group is valid; shorter than its session timeout. */
  readonly fenceMs: number;
}

export function createFence(commits: readonly OffsetCommit[], { session, patience, clock, fenceMs }: FenceDeps): Fence {
  const positions = commits
    .filter(({ metadata }) => metadata !== '')
    .map(({ topic, partition, from, metadata }) => ({ topic, partition, offset: from, metadata }));
  let askedAtMs = -Infinity;
  // In one commit, which the group accepts in full or not at all.
  const ask = (): Promise<void> =>
    patiently(patience, async () => {
      const atMs = clock.monotonic();
      await session.commit(positions);
      askedAtMs = atMs;
    });
  return {
    ask,
    async ensure() {
      if (clock.monotonic() - askedAtMs > fenceMs / 2) await ask();
    },
    assertFresh() {
      if (session.isOver()) throw new PlatformError('GROUP_FENCED', 'inserting rows: the group continues without this member');
      if (clock.monotonic() - askedAtMs <= fenceMs) return;
      throw new PlatformError('STORE_UNAVAILABLE', 'inserting rows: it took so long to begin that the group has to be asked again');
    },
  };
}
