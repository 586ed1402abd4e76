// The table of all settings: the loader, the type, the reference page and the list of known keys are derived from it.
import { crashAtPattern } from '../lifecycle/crash-at.ts';
import { apiDescriptors } from './api-descriptors.ts';
import { engineDescriptors } from './engine-descriptors.ts';
import { evaluationDescriptors } from './evaluation-descriptors.ts';
import { judgeDescriptors } from './judge-descriptors.ts';
import { kafkaDescriptors } from './kafka-descriptors.ts';
import { learnerDescriptors } from './learner-descriptors.ts';
import { llmDescriptors } from './llm-descriptors.ts';
import { webDescriptors } from './web-descriptors.ts';
import { modeDescriptors } from './mode-descriptors.ts';
import { recipeDescriptors } from './recipe-descriptors.ts';
import { synthesisDescriptors } from './synthesis-descriptors.ts';
import { trainerDescriptors } from './trainer-descriptors.ts';

interface Common<T> {
  readonly env: string;
  readonly fallback: T;
  readonly help: string;
  readonly secret?: true;
}
export type Descriptor =
  | (Common<string> & { readonly kind: 'text'; readonly pattern?: RegExp; readonly shape?: string })
  | (Common<string> & { readonly kind: 'choice'; readonly choices: readonly string[] })
  | (Common<number> & { readonly kind: 'whole'; readonly min: number; readonly max: number; readonly not?: number })
  | (Common<number> & { readonly kind: 'number'; readonly min: number; readonly max: number })
  | (Common<boolean> & { readonly kind: 'flag' })
  | (Common<readonly string[]> & { readonly kind: 'list'; readonly pattern?: RegExp; readonly shape?: string });

type ValueOf<D extends Descriptor> = D extends { kind: 'text' }
  ? string
  : D extends { kind: 'choice'; choices: readonly (infer C)[] }
    ? C
    : D extends { kind: 'whole' | 'number' }
      ? number
      : D extends { kind: 'flag' }
        ? boolean
        : readonly string[];

const url = /^https?:\/\/\S+$/;
const hostPort = /^[^\s:,]+:\d{1,5}$/;

export const descriptors = {
  kafkaBrokers: {
    env: 'KAFKA_BROKERS',
    kind: 'list',
    fallback: [],
    pattern: hostPort,
    shape: 'host:port',
    help: 'Kafka brokers, comma separated. Unset: turnstream starts a local Apache Kafka.',
  },
  clickhouseUrl: {
    env: 'CLICKHOUSE_URL',
    kind: 'text',
    fallback: '',
    pattern: url,
    shape: 'an http(s) URL',
    help: 'HTTP address of ClickHouse. Unset: turnstream starts the embedded store.',
    secret: true,
  },
  schemaRegistryUrl: {
    env: 'SCHEMA_REGISTRY_URL',
    kind: 'text',
    fallback: '',
    pattern: url,
    shape: 'an http(s) URL',
    help: 'Address of a Confluent schema registry. Unset: the API serves one at /registry.',
    secret: true,
  },
  dataDir: {
    env: 'TURNSTREAM_DATA_DIR',
    kind: 'text',
    fallback: '.turnstream',
    help: 'Directory of the local Kafka, the embedded store, and downloads.',
  },
  namespace: {
    env: 'TURNSTREAM_NAMESPACE',
    kind: 'text',
    fallback: 'turnstream',
    pattern: /^[a-z][a-z0-9_-]{0,40}$/,
    shape: 'a lower-case slug',
    help: 'Prefix of every topic and consumer group.',
  },
  logLevel: {
    env: 'TURNSTREAM_LOG_LEVEL',
    kind: 'choice',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    fallback: 'info',
    help: 'Minimum level of log messages.',
  },

  ...kafkaDescriptors,
  clickhouseDatabase: {
    env: 'TURNSTREAM_CLICKHOUSE_DATABASE',
    kind: 'text',
    fallback: 'turnstream',
    pattern: /^[a-z][a-z0-9_]{0,60}$/,
    shape: 'a lower-case identifier',
    help: 'ClickHouse database of the tables.',
  },
  clickhouseUser: { env: 'TURNSTREAM_CLICKHOUSE_USER', kind: 'text', fallback: 'default', help: 'ClickHouse user.' },
  clickhousePassword: { env: 'TURNSTREAM_CLICKHOUSE_PASSWORD', kind: 'text', fallback: '', help: 'ClickHouse password.', secret: true },
  storePort: {
    env: 'TURNSTREAM_STORE_PORT',
    kind: 'whole',
    min: 0,
    max: 65_535,
    fallback: 0,
    help: 'Port of the embedded store; 0 picks a free one and remembers it.',
  },
  storeSessions: {
    env: 'TURNSTREAM_STORE_SESSIONS',
    kind: 'whole',
    min: 2,
    max: 32,
    fallback: 4,
    help: 'Concurrent sessions of the embedded store; one is reserved for inserts.',
  },
  sinkBatchRows: {
    env: 'TURNSTREAM_SINK_BATCH_ROWS',
    kind: 'whole',
    min: 1,
    max: 200_000,
    fallback: 20_000,
    help: 'Maximum number of records per insert.',
  },
  sinkMaxWaitMs: {
    env: 'TURNSTREAM_SINK_MAX_WAIT_MS',
    kind: 'whole',
    min: 10,
    max: 60_000,
    fallback: 500,
    help: 'How long the sink buffers records before an insert; three times as long for tasks.',
  },

  healthPort: {
    env: 'TURNSTREAM_HEALTH_PORT',
    kind: 'whole',
    min: 0,
    max: 65_535,
    fallback: 0,
    help: 'Port on which a role that runs alone serves /healthz, /readyz, and /metrics; 0 = none. Under `turnstream up`, the API serves them for all roles.',
  },
  healthHost: {
    env: 'TURNSTREAM_HEALTH_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'Address of the health port. It needs no API key: everybody who can reach it can read health and metrics.',
  },

  ...apiDescriptors,
  sqlMaxSeconds: {
    env: 'TURNSTREAM_SQL_MAX_SECONDS',
    kind: 'whole',
    min: 1,
    max: 600,
    fallback: 10,
    help: 'Time limit of a POST /v1/sql query.',
  },
  sqlMaxRows: {
    env: 'TURNSTREAM_SQL_MAX_ROWS',
    kind: 'whole',
    min: 1,
    max: 10_000_000,
    fallback: 100_000,
    help: 'Maximum result rows of a POST /v1/sql query.',
  },
  sqlMaxResultMb: {
    env: 'TURNSTREAM_SQL_MAX_RESULT_MB',
    kind: 'whole',
    min: 1,
    max: 4_096,
    fallback: 64,
    help: 'Maximum result size of a POST /v1/sql query, MB.',
  },
  sqlConcurrency: {
    env: 'TURNSTREAM_SQL_CONCURRENCY',
    kind: 'whole',
    min: 1,
    max: 64,
    fallback: 2,
    help: 'Concurrent POST /v1/sql queries; others wait a few seconds. Keep it below TURNSTREAM_STORE_SESSIONS - 1.',
  },
  sqlMaxMemoryMb: {
    env: 'TURNSTREAM_SQL_MAX_MEMORY_MB',
    kind: 'whole',
    min: 16,
    max: 65_536,
    fallback: 1_024,
    help: 'Maximum memory of a POST /v1/sql query, MB.',
  },

  ...learnerDescriptors,
  groupSize: { env: 'TURNSTREAM_GROUP_SIZE', kind: 'whole', min: 2, max: 256, fallback: 8, help: 'Trajectories per group.' },
  batchGroups: { env: 'TURNSTREAM_BATCH_GROUPS', kind: 'whole', min: 1, max: 4_096, fallback: 8, help: 'Groups per training step.' },
  maxStaleness: {
    env: 'TURNSTREAM_MAX_STALENESS',
    kind: 'whole',
    min: 0,
    max: 1_000,
    fallback: 4,
    help: 'Maximum age, in policy versions, of the policy behind a trained token.',
  },
  stalePolicy: {
    env: 'TURNSTREAM_STALE_POLICY',
    kind: 'choice',
    choices: ['discard', 'train'],
    fallback: 'discard',
    help: 'What happens to a ready group that is too stale.',
  },
  maxUnknown: {
    env: 'TURNSTREAM_MAX_UNKNOWN',
    kind: 'number',
    min: 0,
    max: 1,
    fallback: 1,
    help: 'Share of the tokens of a trajectory that may come from an unknown policy version. A group with a trajectory above it is discarded as unknown_version. 1 turns the limit off. With 0, every token needs a known version, so the engine must report one with each response.',
  },
  maxDiscarded: {
    env: 'TURNSTREAM_MAX_DISCARDED',
    kind: 'number',
    min: 0,
    max: 1,
    fallback: 0.95,
    help: 'Share of recent groups (at least 64 and 4 batches) that may be discarded. A run that discards more ends early and says why. So does a run in which 16 groups in a row do not finish, or whose last 3 steps change no weight. 1 turns the limit off.',
  },
  maxConcurrent: {
    env: 'TURNSTREAM_MAX_CONCURRENT',
    kind: 'whole',
    min: 1,
    max: 100_000,
    fallback: 24,
    help: 'Maximum number of groups in flight.',
  },
  maxAttempts: {
    env: 'TURNSTREAM_MAX_ATTEMPTS',
    kind: 'whole',
    min: 1,
    max: 100,
    fallback: 3,
    help: 'Attempts per trajectory before its group continues without it.',
  },
  reward: {
    env: 'TURNSTREAM_REWARD',
    kind: 'choice',
    choices: ['f1', 'em'],
    fallback: 'f1',
    help: 'Score of an answer, multiplied by the format reward.',
  },
  maxTurns: {
    env: 'TURNSTREAM_MAX_TURNS',
    kind: 'whole',
    min: 1,
    max: 10_000,
    fallback: 12,
    help: 'Maximum turns per trajectory. 12 is enough for the factbook and its ranker; ASearcher allows 128.',
  },
  maxTokens: {
    env: 'TURNSTREAM_MAX_TOKENS',
    kind: 'whole',
    min: 1,
    max: 100_000_000,
    fallback: 200_000,
    help: 'Maximum tokens per trajectory.',
  },
  maxWallMs: {
    env: 'TURNSTREAM_MAX_WALL_MS',
    kind: 'whole',
    min: 100,
    max: 86_400_000,
    fallback: 3_600_000,
    help: 'Maximum wall-clock time of a trajectory.',
  },
  heartbeatMs: {
    env: 'TURNSTREAM_HEARTBEAT_MS',
    kind: 'whole',
    min: 100,
    max: 60_000,
    fallback: 5_000,
    help: 'Interval of worker heartbeats, which list the running attempts.',
  },
  silenceMs: {
    env: 'TURNSTREAM_SILENCE_MS',
    kind: 'whole',
    min: 500,
    max: 3_600_000,
    fallback: 20_000,
    help: 'How long a worker may send no heartbeat before its attempts are given up.',
  },
  workerConcurrency: {
    env: 'TURNSTREAM_WORKER_CONCURRENCY',
    kind: 'whole',
    min: 1,
    max: 10_000,
    fallback: 96,
    help: 'Maximum concurrent trajectories per worker.',
  },
  crashAt: {
    env: 'TURNSTREAM_CRASH_AT',
    kind: 'text',
    fallback: '',
    pattern: crashAtPattern,
    shape: '<point>[:<n>][,<point>[:<n>]…][:freeze] with points of streams/core/crash-points.ts',
    help: 'For tests: a role kills itself with SIGKILL (with :freeze, stops itself with SIGSTOP) the n-th time it reaches this point.',
  },
  dataset: {
    env: 'TURNSTREAM_DATASET',
    kind: 'text',
    fallback: 'factbook',
    pattern: /^[a-z0-9][a-z0-9_-]{0,62}$/,
    shape: 'a slug',
    help: 'Question set to train on.',
  },

  ...llmDescriptors,
  ...webDescriptors,
  ...evaluationDescriptors,
  ...judgeDescriptors,
  ...modeDescriptors,
  ...trainerDescriptors,
  ...engineDescriptors,
  ...recipeDescriptors,
  ...synthesisDescriptors,
} as const satisfies Record<string, Descriptor>;

/** The whole configuration; frozen. */
export type Config = { readonly [K in keyof typeof descriptors]: ValueOf<(typeof descriptors)[K]> };
