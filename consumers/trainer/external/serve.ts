// The part of the coordinator's loop for external trainers: expired leases and queued calls.
import type { Loop, ExternalLife } from '../deps.ts';
import { measureAhead } from './lease.ts';
import { expireLeases } from './leases.ts';

export async function serveTrainer(life: ExternalLife, loop: Loop): Promise<void> {
  await expireLeases(life, loop);
  await life.external.desk.serve(life, loop);
  measureAhead(life, loop);
}

const TICK_MS = 200;

/**
 * The run has ended, and the answer that said so may have been lost: calls are answered from the ledger until the trainer shows that it
 * heard, or the time is over. Afterwards the API answers them.
 */
export async function linger(life: ExternalLife, loop: Loop, signal: AbortSignal): Promise<void> {
  const untilMs = life.clock.monotonic() + life.external.lingerMs;
  for (;;) {
    await life.external.desk.serve(life, loop);
    const leftMs = untilMs - life.clock.monotonic();
    if (signal.aborted || loop.heardEnd || leftMs <= 0) return;
    await life.wake.wait(Math.min(TICK_MS, leftMs));
  }
}
