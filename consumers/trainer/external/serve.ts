// The part of the coordinator's loop that is about its external trainer: leases that are over, and calls that wait.
import type { Loop, ExternalLife } from '../deps.ts';
import { measureAhead } from './lease.ts';
import { expireLeases } from './leases.ts';

export async function serveTrainer(life: ExternalLife, loop: Loop): Promise<void> {
  await expireLeases(life, loop);
  await life.external.desk.serve(life, loop);
  measureAhead(life, loop);
}
