// The address of the coordinator of a run. It is part of the trainer's claim on the run, which is in the log, so the newest trainer can be
// found from any machine.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { GroupOffsets } from '../../../streams/core/ports.ts';

/** The id of a trainer that listens at `url`. */
export const reachableAt = (id: string, url: string): string => `${id} ${url}`;

/** Throws COORDINATOR_UNAVAILABLE for a run without a trainer, or with the built-in learner. */
export async function findCoordinator(run: string, offsets: GroupOffsets, group: string): Promise<string> {
  const [claim] = await offsets.fetch(group, 'policies');
  const url = claim?.metadata.split(' ')[1];
  if (url?.startsWith('http') === true) return url;
  throw new PlatformError(
    'COORDINATOR_UNAVAILABLE',
    `finding the coordinator of run ${run}: the run does not exist, or was not started with TURNSTREAM_TRAINER=external`,
  );
}
