// What the loop does for external trainers: end expired leases, serve queued calls, and measure the next batch.
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
 * After the run has finished, the last response may have been lost. Calls are served until the trainer shows that it received the response,
 * or until `lingerMs` is over. From then on, the API answers them from the ledger.
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
