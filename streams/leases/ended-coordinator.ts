// Answers calls of external trainers for a finished run, from the ledger alone: a repeated commit gets its first response, the rows of
// every batch can be read, and any other call fails because the run has finished.
import type { BatchLeased } from '../../schemas/generated/events.ts';
import { PlatformError } from '../core/errors.ts';
import type { RunSource } from '../core/read-log.ts';
import { entryHash } from '../ledger/chain.ts';
import { entriesOf } from '../ledger/read-ledger.ts';
import type { Coordinator } from './coordinator.ts';
import { decideCommit, headOf } from './decide.ts';
import { foldLeases, newLeaseBook, type LeaseBook } from './lease-book.ts';
import { reportHash } from './report-hash.ts';

interface EndedRunSource extends RunSource {
  /** Where the run begins in `training`; by default, the whole topic is read. */
  readonly from?: ReadonlyMap<number, number>;
}

interface EndedRun {
  readonly book: LeaseBook;
  readonly isOver: boolean;
  /** The lease of the requested batch. */
  readonly lease: BatchLeased | undefined;
}

/** The error of a claim or a lease after the end of the run. */
export const runEnded = (doing: string, book: LeaseBook): PlatformError =>
  new PlatformError('RUN_FINISHED', `${doing}: the run has finished at version ${headOf(book).version}`);

interface EndedCoordinatorOptions {
  readonly source: EndedRunSource;
  /** The response with the rows of a leased batch. */
  readonly rowsOf: (lease: BatchLeased, ...call: Parameters<Coordinator['rows']>) => ReturnType<Coordinator['rows']>;
  /** Thrown by every call while the run has not finished. */
  readonly otherwise: unknown;
}

export function createEndedCoordinator({ source, rowsOf, otherwise }: EndedCoordinatorOptions): Coordinator {
  async function ended(batchId?: string): Promise<EndedRun> {
    const run = await readEnded(source, batchId);
    if (!run.isOver) throw otherwise;
    return run;
  }
  const over = async (doing: string): Promise<never> => {
    throw runEnded(doing, (await ended()).book);
  };
  return {
    claim: () => over('claiming the run'),
    lease: () => over('leasing a batch'),
    publish: () => over('publishing weights'),
    extend: () => over('extending a lease'),
    release: () => over('releasing a batch'),
    async rows(...call) {
      const [batchId] = call;
      const { lease } = await ended(batchId);
      if (lease === undefined) throw new PlatformError('NOT_FOUND', `reading the rows of batch ${batchId}: there is no such batch`);
      return rowsOf(lease, ...call);
    },
    async commit(batchId, request) {
      const { book } = await ended();
      return repeatedCommit(book, batchId, request);
    },
  };
}

/** The first response to a commit; throws if the commit differs. Epochs are not checked, because no trainer is active. */
function repeatedCommit(
  book: LeaseBook,
  ...[batchId, request]: Parameters<Coordinator['commit']>
): Awaited<ReturnType<Coordinator['commit']>> {
  const call = { epoch: book.epoch, batchId, batchSha256: request.batch_sha256, reportSha256: reportHash(request) };
  const decision = decideCommit(book, call);
  if (decision.kind === 'refused') throw new PlatformError(decision.code, decision.message);
  if (decision.kind === 'first') throw runEnded('committing a batch', book);
  const { version, lineage } = decision.commit;
  return { step: version, version, lineage, replayed: true };
}

async function readEnded(source: EndedRunSource, batchId: string | undefined): Promise<EndedRun> {
  const book = newLeaseBook();
  let isOver = false;
  let lease: BatchLeased | undefined;
  for await (const { entry, body } of entriesOf(source, source.from)) {
    foldLeases(book, entry, entryHash(body));
    if (entry.type === 'RunFinished') isOver = true;
    if (entry.type === 'RunContinued') isOver = false;
    if (entry.type === 'BatchLeased' && entry.event.batch_id === batchId) lease = entry.event;
  }
  return { book, isOver, lease };
}
