// What the loop does for external trainers: serve queued calls, end expired leases, and measure the next batch. Calls come first, so that
// an extension that waited in the queue is not too late.
import { headOf } from '../../../streams/leases/decide.ts';
import type { Loop, ExternalLife } from '../deps.ts';
import { measureAhead } from './lease.ts';
import { expireLeases } from './leases.ts';

export async function serveTrainer(life: ExternalLife, loop: Loop): Promise<void> {
  await life.external.desk.serve(life, loop);
  await expireLeases(life, loop);
  measureAhead(life, loop);
}

const TICK_MS = 200;

/**
 * After the run has finished, the last response may have been lost, and the weights of the last version may still come. Calls are served
 * until the trainer shows that it received the response and the version has weights, or until `lingerMs` is over. From then on, the API
 * answers them from the ledger.
 */
export async function linger(life: ExternalLife, loop: Loop, signal: AbortSignal): Promise<void> {
  const untilMs = life.clock.monotonic() + life.external.lingerMs;
  for (;;) {
    await life.external.desk.serve(life, loop);
    const leftMs = untilMs - life.clock.monotonic();
    const isDone = loop.heardEnd && headOf(life.state.leases).weightsSha256 !== '';
    if (signal.aborted || isDone || leftMs <= 0) return;
    await life.wake.wait(Math.min(TICK_MS, leftMs));
  }
}
