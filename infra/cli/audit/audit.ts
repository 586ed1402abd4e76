// Runs the audit for the command line. If the store is running, its sink gets time to store everything that is in the log when the audit
// begins. Otherwise, records that are not stored yet are reported but do not fail the audit: the next sink stores them.
import { constants, getPriority, setPriority } from 'node:os';
import { audit, type AuditProgress, type AuditResult } from '../../../consumers/warehouse/audit.ts';
import type { AuditState } from '../../../consumers/warehouse/audit-findings.ts';
import type { AuditSample } from '../../../consumers/warehouse/audit-slices.ts';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger, Store } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { withKnownAddresses } from '../../app/open/addresses.ts';
import { auditFile, type KeptAudit } from './audit-file.ts';
import { connectWarehouse, groupsOf, type LogConnection } from '../../app/open/connections.ts';
import { drained } from '../../app/open/drain.ts';
import { withLog } from '../../app/open/with-log.ts';
import { systemClock } from '../../lifecycle/clock.ts';

export interface AuditWork {
  readonly waitMs: number;
  readonly differences: number;
  /** Compares only a sample of the log. */
  readonly sample?: AuditSample;
  /** Resumes an interrupted audit after the last slice that it compared. */
  readonly resume: boolean;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly onProgress: (progress: AuditProgress | 'waiting') => void;
}

/** Compares the log, or a sample of it, with the tables. */
export function runAudit(config: Config, work: AuditWork): Promise<AuditResult> {
  const alone = withKnownAddresses(config).clickhouseUrl === '';
  const options = { config, logger: work.logger, purpose: 'audit', store: true };
  return withLog(options, async (log, found) => {
    const store = connectWarehouse(found);
    const place: AuditTarget = { log, config: found, store, group: groupsOf(found.namespace).warehouse };
    try {
      return alone ? await compare(place, work) : await giveWay(() => compareBeside(place, work));
    } finally {
      await store.close();
    }
  });
}

interface AuditTarget {
  readonly log: LogConnection;
  readonly config: Config;
  readonly store: Store;
  readonly group: string;
}

async function compareBeside(place: AuditTarget, work: AuditWork): Promise<AuditResult> {
  work.onProgress('waiting');
  const stored = await drained(place.log, place.group, AbortSignal.any([work.signal, AbortSignal.timeout(work.waitMs)]));
  const result = await compare(place, work);
  return { ...result, ok: result.ok && stored };
}

async function compare({ log, config, store, group }: AuditTarget, work: AuditWork): Promise<AuditResult> {
  const { differences, sample, signal, onProgress } = work;
  const file = auditFile(config);
  const kept = work.resume ? await keptOf(file.read()) : undefined;
  const onSlice = (state: AuditState): Promise<void> =>
    file.write({ at: new Date(systemClock.now()).toISOString(), state }).catch((error: unknown) => {
      work.logger.warn({ error: messageOf(error) }, 'the progress of the audit cannot be saved: it continues, but cannot be resumed');
    });
  const result = await audit({
    ...{
      events: log.events,
      store,
      reader: log.kafka.reader(),
      slices: log.kafka.reader({ textsApart: true }),
      offsets: log.kafka.offsets,
      clock: systemClock,
      group,
      signal,
      onProgress,
    },
    ...(sample === undefined ? { onSlice } : {}),
    options: {
      ...{ differences, allowLag: true },
      ...(sample === undefined ? {} : { sample }),
      ...(kept === undefined ? {} : { resume: kept.state }),
    },
  });
  if (result.complete && sample === undefined) await file.remove();
  return result;
}

async function keptOf(reading: Promise<KeptAudit | undefined>): Promise<KeptAudit> {
  const kept = await reading;
  if (kept !== undefined) return kept;
  throw new PlatformError('USAGE_INVALID', 'auditing: there is no audit to resume; run `turnstream audit` without --resume');
}

/** Lowers the priority of this process: the sink, the trainer and the workers need the processors first. */
async function giveWay<T>(work: () => Promise<T>): Promise<T> {
  const before = getPriority();
  setPriority(Math.max(before, constants.priority.PRIORITY_BELOW_NORMAL));
  try {
    return await work();
  } finally {
    try {
      setPriority(before);
    } catch {
      // only root may raise the priority again, and this process is about to end
    }
  }
}
