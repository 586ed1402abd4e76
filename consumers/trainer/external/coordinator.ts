// Implements the `Coordinator` port on top of the run's loop. Rows are read from the log outside that loop.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Coordinator } from '../../../streams/leases/coordinator.ts';
import type { BatchRows } from '../../../streams/leases/batch-rows.ts';
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { claimJob } from './claim.ts';
import { commitJob } from './commit.ts';
import { publishJob } from './publish.ts';
import type { Desk } from '../deps.ts';
import { extendJob, leaseJob, releaseJob } from './lease.ts';
import { answerRows } from './rows-answer.ts';

export interface CoordinatorDeps {
  readonly runId: string;
  readonly desk: Desk;
  readonly rows: BatchRows;
  /** Finds a lease that has ended in the ledger. */
  readonly findLease: (batchId: string) => Promise<BatchLeased | undefined>;
}

const NOBODY = new AbortController().signal;

export function createCoordinator({ runId, desk, rows, findLease }: CoordinatorDeps): Coordinator {
  const assertRun = (run: string): void => {
    if (run !== runId) throw new PlatformError('NOT_FOUND', `asking the coordinator of run ${run}: it is that of run ${runId}`);
  };
  const leaseOf = async (batchId: string): Promise<BatchLeased> => {
    const out = await desk.ask(async ({ state }) => ({
      kind: 'answer',
      value: state.leases.out.find(({ batch_id: id }) => id === batchId),
    }));
    const found = out ?? (await findLease(batchId));
    if (found === undefined) throw new PlatformError('NOT_FOUND', `reading the rows of batch ${batchId}: there is no such batch`);
    return found;
  };
  return {
    async claim(run, request) {
      assertRun(run);
      return desk.ask(claimJob(request));
    },
    async lease(run, request, signal = NOBODY) {
      assertRun(run);
      return desk.ask(leaseJob(request), { waitMs: request.wait_ms ?? 0, otherwise: undefined, signal });
    },
    async publish(run, request) {
      assertRun(run);
      return desk.ask(publishJob(request));
    },
    rows: async (batchId, request) => answerRows(await leaseOf(batchId), rows, request),
    extend: (batchId, { epoch }) => desk.ask(extendJob({ batchId, epoch })),
    commit: (batchId, request) => desk.ask(commitJob(batchId, request)),
    release: (batchId, { epoch }) => desk.ask(releaseJob({ batchId, epoch })),
  };
}
