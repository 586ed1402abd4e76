// Signs of progress of a run, observed without the proxies: steps of the ledger, records of the workers, stored records of the sink, and
// responses of the API.
import { createCodec } from '../../../schemas/codec.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { connectKafka, type KafkaConnection } from '../../kafka/connect.ts';
import { groupsOf } from '../../app/open/connections.ts';
import type { FaultTarget } from './schedule.ts';
import { pause } from '../../lifecycle/waiting.ts';

/** The progress of the log; every number only grows. */
export interface LogMark {
  /** Sum of the positions that the newest step committed in its transaction; an aborted one does not count. */
  readonly steps: number;
  readonly records: number;
  /** Rollout records that the sink has stored, by the growth of its positions. */
  readonly stored: number;
}

export interface RecoverySigns {
  /** Waits until Kafka responds, and throws when that takes longer than `timeoutMs`. */
  mark(timeoutMs: number): Promise<LogMark>;
  /**
   * Milliseconds until the target is seen working again, and until the next step; undefined when that takes too long, or when `up` has
   * ended.
   */
  back(target: FaultTarget, from: LogMark, until: Until): Promise<Back>;
  close(): Promise<void>;
}

interface Until {
  readonly timeoutMs: number;
  readonly ended: () => boolean;
}

interface Back {
  readonly backMs: number | undefined;
  readonly nextStepMs: number | undefined;
}

/** The sign that a target has recovered. */
export const signOf: Readonly<Record<FaultTarget, string>> = {
  trainer: 'next step',
  'external-trainer': 'next step',
  broker: 'next step',
  worker: 'next record',
  warehouse: 'next rows stored',
  store: 'next rows stored',
  api: 'answers again',
};

export interface SignsOptions {
  readonly namespace: string;
  readonly run: string;
  readonly brokers: () => readonly string[];
  readonly apiUrl: () => string | undefined;
  readonly logger: Logger;
}

const LOOK_MS = 150;
const ASK_MS = 10_000;
const API_MS = 3_000;
export function createSigns(options: SignsOptions): RecoverySigns {
  const { namespace, run, logger } = options;
  let connection: KafkaConnection | undefined;
  const stored = createGrowth();

  async function ask(): Promise<LogMark | undefined> {
    connection ??= connectKafka({ brokers: options.brokers(), clientId: 'signs', namespace, codec: createCodec(), logger });
    const asked = connection;
    const answer = await Promise.race([
      read(asked, { namespace, run, stored }).catch(() => undefined),
      pause(ASK_MS).then(() => undefined),
    ]);
    if (answer !== undefined) return answer;
    if (connection === asked) {
      connection = undefined;
      void asked.close().catch(() => undefined);
    }
    await pause(LOOK_MS);
    return undefined;
  }

  return {
    async mark(timeoutMs) {
      const began = Date.now();
      while (Date.now() - began < timeoutMs) {
        const found = await ask();
        if (found !== undefined) return found;
        await pause(LOOK_MS);
      }
      throw new Error(`Kafka did not respond for ${timeoutMs / 1000} s`);
    },
    async back(target, from, { timeoutMs, ended }) {
      const began = Date.now();
      const seen: { backMs?: number; nextStepMs?: number } = {};
      while (!ended() && Date.now() - began < timeoutMs && (seen.backMs === undefined || seen.nextStepMs === undefined)) {
        const now = await ask();
        if (now === undefined) continue;
        if (now.steps > from.steps) seen.nextStepMs ??= Date.now() - began;
        if (seen.backMs === undefined && (await isBack(target, { from, now, apiUrl: options.apiUrl() }))) seen.backMs = Date.now() - began;
        await pause(LOOK_MS);
      }
      return { backMs: seen.backMs, nextStepMs: seen.nextStepMs };
    },
    close: async () => connection?.close(),
  };
}

type Offsets = Awaited<ReturnType<KafkaConnection['offsets']['fetch']>>;

/** Total growth of positions. Their sum would drop when a fault deletes them, and would hide what is stored afterwards. */
function createGrowth(): (offsets: Offsets) => number {
  const last = new Map<number, number>();
  let grown = 0;
  return (offsets) => {
    for (const { partition, offset } of offsets) {
      grown += Math.max(0, offset - (last.get(partition) ?? offset));
      last.set(partition, Math.max(0, offset));
    }
    return grown;
  };
}

interface MarkOptions extends Pick<SignsOptions, 'namespace' | 'run'> {
  readonly stored: (offsets: Offsets) => number;
}

async function read(kafka: KafkaConnection, { namespace, run, stored }: MarkOptions): Promise<LogMark> {
  const { trainer, warehouse } = groupsOf(namespace);
  const committed = async (group: string, topic: 'rollouts' | 'tasks'): Promise<number> =>
    (await kafka.offsets.fetch(group, topic)).reduce((sum, { offset }) => sum + Math.max(0, offset), 0);
  const [bounds, ofSink, rollouts, tasks] = await Promise.all([
    kafka.reader().bounds('rollouts'),
    kafka.offsets.fetch(warehouse, 'rollouts'),
    committed(trainer(run), 'rollouts'),
    committed(trainer(run), 'tasks'),
  ]);
  return { steps: rollouts + tasks, records: bounds.reduce((sum, { end }) => sum + end, 0), stored: stored(ofSink) };
}

interface MarkPair {
  readonly from: LogMark;
  readonly now: LogMark;
  readonly apiUrl: string | undefined;
}

async function isBack(target: FaultTarget, { from, now, apiUrl }: MarkPair): Promise<boolean> {
  switch (target) {
    case 'trainer':
    case 'external-trainer':
    case 'broker':
      return now.steps > from.steps;
    case 'worker':
      return now.records > from.records;
    case 'warehouse':
    case 'store':
      return now.stored > from.stored;
    case 'api':
      return apiUrl !== undefined && isReady(apiUrl);
  }
}

async function isReady(apiUrl: string): Promise<boolean> {
  try {
    const answer = await fetch(new URL('/v1/runs', apiUrl), { signal: AbortSignal.timeout(API_MS) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
