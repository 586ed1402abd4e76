// Keeps the local log within its limits (log-cuts.ts) while an `up` runs. It never truncates the log of an external Kafka.
import type { Logger, Store } from '../../../streams/core/ports.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Config } from '../../config/descriptors.ts';
import { settledWithin } from '../../lifecycle/waiting.ts';
import { measureDisk } from '../../lifecycle/disk-use.ts';
import { connectLog, connectWarehouse, groupsOf, type LogConnection } from '../open/connections.ts';
import { planCuts, type CutPlan, type KeepRules, type KnownRun, type StoredRange } from './log-cuts.ts';

const FIRST_MS = 60_000;
const EVERY_MS = 600_000;
const STOP_MS = 2_000;

export interface TidyOptions {
  /** With the addresses of the running services. */
  readonly config: () => Config;
  /** The current run, which is kept. */
  readonly run: string;
  readonly logger: Logger;
  readonly onCut: (plan: CutPlan) => void;
}

/** Checks after one minute and then every ten minutes until stopped. Failures are retried at the next check. */
export function startTidying(options: TidyOptions): () => Promise<void> {
  let stopped = false;
  let going: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const next = (afterMs: number): void => {
    timer = setTimeout(() => {
      going = tidyOnce(options)
        .catch((error: unknown) => {
          options.logger.debug({ error: messageOf(error) }, 'looking at the size of the log failed');
        })
        .then(() => {
          if (!stopped) next(EVERY_MS);
        });
    }, afterMs).unref();
  };
  next(FIRST_MS);
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await settledWithin(STOP_MS, going);
  };
}

async function tidyOnce({ config: configNow, run, logger, onCut }: TidyOptions): Promise<void> {
  const config = configNow();
  const log = await connectLog({ config, clientId: 'tidy', logger, wholeTurns: false });
  const store = connectWarehouse(config, 'tidy');
  try {
    const plan = await tidyLog({ config, log, store }, run);
    if (plan.cuts.length === 0) return;
    logger.info({ ...plan }, 'removed records that no kept run needs from the log; the tables still have them');
    onCut(plan);
  } finally {
    await store.close();
    await log.close();
  }
}

export interface TidyWork {
  readonly config: Config;
  readonly log: Pick<LogConnection, 'kafka'>;
  readonly store: Pick<Store, 'query'>;
  readonly nowMs?: number;
}

/** Truncates the log where the configured rules allow it, and returns what was removed. */
export async function tidyLog({ config, log, store, nowMs = Date.now() }: TidyWork, run: string): Promise<CutPlan> {
  const { kafka } = log;
  const rules = { ...rulesOf(config, nowMs), keepRuns: new Set([...config.keepRuns, run]) };
  // Reads the stored positions before the starts of runs: a run that begins later writes after these positions.
  const partitions = await rangesOf(kafka, groupsOf(config.namespace).warehouse);
  const starts = await kafka.runs.starts();
  const runs = await runsOf(store, rules);
  const use = await measureDisk(config.dataDir, config.namespace);
  const bytes = (use?.parts ?? []).reduce((sum, one) => sum + (BOUNDED.has(one.part) ? one.bytes : 0), 0);
  const plan = planCuts({ runs, starts, partitions, bytes }, rules);
  for (const topic of TOPICS) {
    const cuts = plan.cuts.filter((cut) => cut.topic === topic);
    if (cuts.length > 0) await kafka.topics.cut(topic, cuts);
  }
  return plan;
}

const TOPICS = ['rollouts', 'tasks'] as const;
const BOUNDED: ReadonlySet<string> = new Set(TOPICS.map((topic) => `log.${topic}`));

const rulesOf = ({ keepLogHours, keepLogGb }: Config, nowMs: number): Omit<KeepRules, 'keepRuns'> => ({
  nowMs,
  keepMs: keepLogHours < 0 ? Number.POSITIVE_INFINITY : keepLogHours * 3_600_000,
  keepBytes: keepLogGb < 0 ? Number.POSITIVE_INFINITY : keepLogGb * 1e9,
});

async function rangesOf(kafka: LogConnection['kafka'], group: string): Promise<readonly StoredRange[]> {
  const ranges = await Promise.all(
    TOPICS.map(async (topic) => {
      const [committed, bounds] = await Promise.all([kafka.offsets.fetch(group, topic), kafka.reader().bounds(topic)]);
      const stored = new Map(committed.map(({ partition, offset }) => [partition, offset]));
      return bounds.map(({ partition, first, end }) => ({
        topic,
        partition,
        first,
        end,
        stored: Math.min(end, stored.get(partition) ?? 0),
      }));
    }),
  );
  return ranges.flat();
}

/** For each run, the times of its end, of its newest ledger entry and of its newest record of any kind, ms since the epoch. */
const RUNS = `
select run_id, toFloat64(maxIf(ms, kind = 'end')) as ended, toFloat64(maxIf(ms, kind = 'entry')) as entry, toFloat64(max(ms)) as last
from (
  select run_id, if(event = 'finished', 'end', 'entry') as kind, toUnixTimestamp64Milli(toDateTime64(at, 3)) as ms from run_events
  union all
  select run_id, 'entry' as kind, toUnixTimestamp64Milli(toDateTime64(at, 3)) as ms from steps
  union all
  select run_id, 'other' as kind, toUnixTimestamp64Milli(toDateTime64(max(_timestamp), 3)) as ms from trajectories group by run_id
)
group by run_id`;

interface TidiedRun {
  readonly run_id: string;
  readonly ended: number;
  readonly entry: number;
  readonly last: number;
}

async function runsOf(store: TidyWork['store'], rules: Pick<KeepRules, 'nowMs' | 'keepMs'>): Promise<readonly KnownRun[]> {
  const rows = await store.query<TidiedRun>(RUNS);
  return rows.map(({ run_id: runId, ended, entry, last }) => {
    // A run without a ledger here, such as imported trajectories, has no end: only its age counts.
    const isOver = entry > 0 ? ended >= entry : rules.nowMs - last > rules.keepMs;
    return { runId, finishedAtMs: isOver ? last : undefined };
  });
}
