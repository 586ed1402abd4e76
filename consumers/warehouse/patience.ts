// Waits out an outage: retries the same work with growing pauses as long as this process still owns the partition. The error tells whether
// it is an outage (`retriable`); any other error is rethrown.
import { isPlatformError, messageOf, PlatformError } from '../../streams/core/errors.ts';
import { createBackoff } from '../../streams/core/waiting.ts';

export interface Patience {
  readonly minMs: number;
  readonly maxMs: number;
  /** False once the work belongs to another member; the wait then ends with GROUP_FENCED. */
  readonly alive: () => boolean;
  /** Waits for `ms`, or less when `alive` may have changed. */
  readonly pause: (ms: number) => Promise<void>;
  /** Called before each pause with the reason for waiting, and with '' once the work succeeded. */
  readonly onWaiting: (detail: string) => void;
}

/** Runs `work` until it succeeds. */
export async function patiently<T>(patience: Patience, work: () => Promise<T>): Promise<T> {
  const backoff = createBackoff({ firstMs: patience.minMs, maxMs: patience.maxMs });
  let waited = false;
  for (;;) {
    assertAlive(patience);
    try {
      const result = await work();
      if (waited) patience.onWaiting('');
      return result;
    } catch (error) {
      if (!isPlatformError(error) || !error.retriable || error.code === 'GROUP_FENCED') throw error;
      waited = true;
      patience.onWaiting(messageOf(error));
      await patience.pause(backoff.next());
    }
  }
}

export function assertAlive(patience: Pick<Patience, 'alive'>): void {
  if (!patience.alive()) throw new PlatformError('GROUP_FENCED', 'storing a range: the partition is no longer ours');
}
