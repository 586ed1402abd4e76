// The ledger for the command line: verifying and showing it.
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { EventRead, EventReader, Logger, LogReader } from '../../../streams/core/ports.ts';
import { batchesOf, runOf } from '../../../streams/core/read-log.ts';
import { entriesOf, entryOf } from '../../../streams/ledger/read-ledger.ts';
import { EXTERNAL } from '../../../streams/run/fold.ts';
import { createLedgerVerifier, type LedgerReport, type LedgerVerifier } from '../../../streams/run/verify-ledger.ts';
import { sha256Of } from '../../../consumers/trainer/checkpoints.ts';
import type { Config } from '../../config/descriptors.ts';
import { readWeights } from '../../app/roles/weights.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface RunLedger {
  readonly run: string;
  readonly report: LedgerReport;
}

/** Verifies the ledger of one run, or of all; throws NOT_FOUND for a run that has none. */
export function verifyLedgers(config: Config, run: string | undefined, logger: Logger): Promise<readonly RunLedger[]> {
  return withLog({ config, logger, purpose: 'ledger verify' }, (log) => ledgersIn({ reader: log.kafka.reader(), events: log.events }, run));
}

export interface LedgerReaders {
  readonly reader: LogReader;
  readonly events: EventReader;
}

/**
 * Also verifies unfinished runs. A step and its version are committed together, but topics are read one after the other. So the versions
 * are read first, then the entries, which have the steps of all these versions, then the versions that were published meanwhile.
 */
export async function ledgersIn(source: LedgerReaders, run: string | undefined): Promise<readonly RunLedger[]> {
  const verifiers = new Map<string, LedgerVerifier>();
  const unreadable: { run: string; offset: number; problem: string }[] = [];
  const readPolicies = (found: 'before entries' | 'after entries', from?: NextOffsets): Promise<NextOffsets> =>
    eachRead(source, { topic: 'policies', run, from }, async (read, runId) => {
      if (!read.ok || read.value.type !== 'PolicyPublished') return;
      const { event } = read.value;
      verifierOf(verifiers, runId).policy(event, await hashOf(event), found);
    });
  const read = await readPolicies('before entries');
  await eachRead(source, { topic: 'training', run }, (entryRead, runId) => {
    if (!entryRead.ok) {
      unreadable.push({ run: runId, offset: entryRead.record.offset, problem: `the entry cannot be read: ${entryRead.error}` });
      return;
    }
    const found = entryOf(entryRead);
    if (found !== undefined) verifierOf(verifiers, runId).entry(found.entry, found.body, found.offset);
  });
  await readPolicies('after entries', read);
  if (run !== undefined && !verifiers.has(run)) {
    throw new PlatformError('NOT_FOUND', `verifying the ledger of ${run}: there is no such run; \`turnstream status\` lists them`);
  }
  return [...verifiers].map(([id, verifier]) => ({ run: id, report: withUnreadable(verifier.report(), id, unreadable) }));
}

function withUnreadable(
  report: LedgerReport,
  run: string,
  unreadable: readonly { run: string; offset: number; problem: string }[],
): LedgerReport {
  const ours = unreadable.filter((one) => one.run === run).map(({ offset, problem }) => ({ offset, problem }));
  return ours.length === 0 ? report : { ...report, ok: false, problems: [...report.problems, ...ours] };
}

function verifierOf(verifiers: Map<string, LedgerVerifier>, run: string): LedgerVerifier {
  const verifier = verifiers.get(run) ?? createLedgerVerifier();
  verifiers.set(run, verifier);
  return verifier;
}

type OnRead = (read: EventRead, run: string) => Promise<void> | void;

/** The next offset to read, by partition. */
type NextOffsets = ReadonlyMap<number, number>;

interface LedgerQuery {
  readonly topic: 'training' | 'policies';
  /** Undefined: all runs. */
  readonly run: string | undefined;
  /** Default: the beginning. */
  readonly from?: NextOffsets | undefined;
}

/** Reads every record of a run, or of all runs, in the order of the log; resolves with the next offsets. */
async function eachRead({ reader, events }: LedgerReaders, { topic, run, from }: LedgerQuery, onRead: OnRead): Promise<NextOffsets> {
  const reached = new Map(from);
  for await (const { partition, records, nextOffset } of batchesOf(reader, topic, from === undefined ? {} : { from })) {
    for (const record of records) {
      const runId = runOf(record);
      if (run === undefined || runId === run) await onRead(await events.read(record), runId);
    }
    reached.set(partition, nextOffset);
  }
  return reached;
}

export interface ShowOptions {
  readonly run: string;
  readonly from: number;
  readonly limit: number;
  readonly logger: Logger;
  readonly out: (text: string) => void;
}

/** Prints entries as JSON lines. */
export function showLedger(config: Config, options: ShowOptions): Promise<void> {
  const { run, from, limit, logger, out } = options;
  return withLog({ config, logger, purpose: 'ledger show' }, async (log) => {
    let shown = 0;
    for await (const { entry, offset } of entriesOf({ log: log.kafka.reader(), events: log.events, runId: run })) {
      if (entry.event.sequence < from) continue;
      if (shown >= limit) break;
      shown += 1;
      out(`${JSON.stringify({ offset, type: entry.type, ...entry.event })}\n`);
    }
    if (shown === 0 && from === 0)
      throw new PlatformError('NOT_FOUND', `showing the ledger of ${run}: there is no such run; \`turnstream status\` lists them`);
  });
}

/** The hash of the published weights; for an external trainer, the hash that the event claims. */
async function hashOf(event: PolicyPublished): Promise<string> {
  if (event.backend === EXTERNAL) return event.sha256;
  return sha256Of(event.uri === '' ? event.weights : await readWeights(event.uri).catch(() => Buffer.alloc(0)));
}
