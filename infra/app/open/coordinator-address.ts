// Where the coordinator of a run listens. Its claim on the run, which the log keeps, says so: whoever finds the claim of the newest trainer
// finds that trainer, on any machine.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { GroupOffsets } from '../../../streams/core/ports.ts';

/** The id of a trainer that can be asked at `url`. */
export const reachableAt = (id: string, url: string): string => `${id} ${url}`;

/** Throws COORDINATOR_UNAVAILABLE for a run that nobody trains, or that the built-in learner trains. */
export async function findCoordinator(run: string, offsets: GroupOffsets, group: string): Promise<string> {
  const [claim] = await offsets.fetch(group, 'policies');
  const url = claim?.metadata.split(' ')[1];
  if (url?.startsWith('http') === true) return url;
  throw new PlatformError(
    'COORDINATOR_UNAVAILABLE',
    `finding the coordinator of run ${run}: the run does not exist, or was not started with TURNSTREAM_TRAINER=external`,
  );
}
