// The part of the coordinator's loop for external trainers: expired leases and queued calls.
import type { Loop, ExternalLife } from '../deps.ts';
import { expireLeases } from './leases.ts';

export async function serveTrainer(life: ExternalLife, loop: Loop): Promise<void> {
  await expireLeases(life, loop);
  await life.external.desk.serve(life, loop);
}
