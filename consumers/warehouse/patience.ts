// Waiting out an outage: the same work again, with growing pauses, for as long as this process still has the partition.
// What an outage is, the error says (`retriable`); anything else is thrown on.
import { isPlatformError, messageOf, PlatformError } from '../../streams/core/errors.ts';
import { createBackoff } from '../../streams/core/waiting.ts';

export interface Patience {
  readonly minMs: number;
  readonly maxMs: number;
  /** False once the work is somebody else's; then the wait ends with GROUP_FENCED. */
  readonly alive: () => boolean;
  /** Waits, or less when `alive` may have changed. */
  readonly pause: (ms: number) => Promise<void>;
  /** Called before each pause with what is waited for, and with '' once the work went through after all. */
  readonly onWaiting: (detail: string) => void;
}

/** Runs `work` until it goes through. */
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
