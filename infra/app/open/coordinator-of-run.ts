// Finds the coordinator of a run with an external trainer. Once the run has ended, the ledger answers in its place.
import { createLogRows } from '../../../consumers/trainer/external/log-rows.ts';
import { answerRows } from '../../../consumers/trainer/external/rows-answer.ts';
import { createEndedCoordinator } from '../../../streams/leases/ended-coordinator.ts';
import type { Coordinator } from '../../../streams/leases/coordinator.ts';
import { fallingBack } from '../../http/falling-back.ts';
import { keyHeaders } from '../../http/keys.ts';
import { remoteCoordinator } from '../../http/remote-coordinator.ts';
import type { LogConnection } from './connections.ts';
import { findCoordinator } from './coordinator-address.ts';

interface Reached {
  readonly log: LogConnection;
  /** Consumer group of the trainers of the run. */
  readonly group: string;
}

/** `headers` are those of the caller, with its API key. */
export async function coordinatorOf({ log, group }: Reached, run: string, headers: Parameters<typeof keyHeaders>[0]): Promise<Coordinator> {
  const { kafka, events } = log;
  const url = await findCoordinator(run, kafka.offsets, group);
  return fallingBack(remoteCoordinator({ url, headers: keyHeaders(headers) }), async (otherwise) => {
    // the trainers of a run commit the offsets at which it begins
    const begins = (await kafka.offsets.fetch(group, 'training')).map(({ partition, offset }) => [partition, Math.max(0, offset)] as const);
    const source = { log: kafka.reader(), events, runId: run };
    const rows = createLogRows({ log: source.log, events: log.eventsThrough({ late: ['TurnRecorded'] }) });
    return createEndedCoordinator({
      source: { ...source, from: new Map(begins) },
      rowsOf: (lease, _, request) => answerRows(lease, rows, request),
      otherwise,
    });
  });
}
