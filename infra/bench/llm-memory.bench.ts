// Measures the memory of a worker that runs many long trajectories of a language model at once: a real `turnstream worker` in its own
// process, real Kafka, the real factbook tools, and a scripted model over HTTP in this process. `npm run bench llm-memory`
import { openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { factbookProfiles } from '../../producers/factbook/profiles.ts';
import type { TrajectoryFinished, TrajectoryRequested } from '../../schemas/generated/events.ts';
import { startRoleChild } from '../app/fleet/role-child.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import { researcher } from '../testing/llm-researcher.ts';
import { startLlmServer } from '../testing/llm-server.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    trajectories: { type: 'string', default: '64' },
    turns: { type: 'string', default: '128' },
    'thought-chars': { type: 'string', default: '5200' },
    'generation-ms': { type: 'string', default: '500' },
    memory: { type: 'string', default: 'transcript,bounded' },
    minutes: { type: 'string', default: '40' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const MB = 1e6;
const MB_OF_TARGET = 600;
/** Tool calls that each trajectory must make: 100 in 128 turns; in the others, the model reads pages or makes mistakes. */
const CALLS_OF_TARGET = Math.max(1, (flags.quick ? 32 : Number(flags.turns)) - 28);
const TOKENS_OF_TARGET = 150_000;
const RUN = 'llm-memory';
const ASKED_AT = 1_790_000_000_000_000;

const trajectories = flags.quick ? 8 : Number(flags.trajectories);
const turns = flags.quick ? 32 : Number(flags.turns);
const limitMs = Number(flags.minutes) * 60_000;

interface MemoryMeasurement {
  readonly memory: string;
  readonly peakMb: number;
  readonly seconds: number;
  readonly atOnce: number;
  readonly requests: number;
  readonly ends: readonly TrajectoryFinished[];
  readonly tensors: boolean;
}

const taskOf = (index: number): TrajectoryRequested => ({
  event_id: `${RUN}-${index}.0/0/request`,
  ...{ run_id: RUN, occurred_at: ASKED_AT, producer: 'bench', group_id: `${RUN}-${index}`, trajectory_id: `${RUN}-${index}.0` },
  ...{ attempt: 0, sample: 0, group_index: index, group_size: 1, purpose: 'train', question_id: `q-${index}` },
  question: `What is the capital that number ${index} is about?`,
  ...{ answers: ['Vienna'], aug_answers: [], reward: 'f1', decoding: 'sample', seed: index, policy_version: -1 },
  ...{ max_turns: turns, max_tokens: 100_000_000, max_wall_ms: 86_400_000, admitted_version: 0, evaluation_id: '', addressee: '' },
});

/** Does the trainer's part: commits the tasks, and the offsets at which the workers begin to read them. */
async function ask(kafka: KafkaConnection, namespace: string): Promise<void> {
  const trainer = await kafka.transactional(`${namespace}.trainer.${RUN}`);
  const positions = (await kafka.reader().bounds('tasks')).map(({ partition, first: offset }) => ({
    topic: 'tasks' as const,
    partition,
    offset,
  }));
  const events = Array.from({ length: trajectories }, (_, index) => taskOf(index));
  await trainer.commit({
    events: events.map((event) => ({ type: 'TrajectoryRequested', key: event.trajectory_id, event })),
    offsets: { group: `${namespace}.workers.${RUN}`, positions },
  });
  await trainer.close();
}

async function endsIn(kafka: KafkaConnection, { codec }: BenchSite): Promise<readonly TrajectoryFinished[]> {
  const ends: TrajectoryFinished[] = [];
  await kafka.reader().readToEnd('rollouts', {
    onBatch: ({ records }) => {
      for (const record of records) {
        const read = codec.decode(record.value ?? Buffer.alloc(0));
        if (read.ok && read.value.type === 'TrajectoryFinished') ends.push(read.value.event);
      }
    },
  });
  return ends;
}

/** Peak resident memory of a process, bytes; Linux only. */
const peakOf = (pid: number): number => Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) * 1_024;
const hasTensors = (pid: number): boolean => /tensorflow|tfjs/.test(readFileSync(`/proc/${pid}/maps`, 'utf8'));

/** Settings of the shell must not influence a bench. */
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TURNSTREAM_') && !name.startsWith('KAFKA_')));

interface Watched {
  readonly pid: number;
  /** Resolves when this many trajectories are recorded; rejects when the worker ends first. */
  readonly finished: Promise<void>;
  stop(): Promise<void>;
}

async function startWorker(site: BenchSite, settings: Readonly<Record<string, string>>): Promise<Watched> {
  const logFile = join(site.dataDir, 'worker.log');
  let done: () => void = () => undefined;
  let told = 0;
  const child = await startRoleChild({
    program: resolve('infra/cli/turnstream.mjs'),
    args: ['worker', '--run', RUN],
    env: { ...withoutOurs(process.env), KAFKA_BROKERS: site.brokers.join(','), TURNSTREAM_DATA_DIR: site.dataDir, ...settings },
    log: openSync(logFile, 'a'),
    onMessage: (message) => {
      if (message.type !== 'status') return;
      const { figures } = message.status;
      const total = figures['turns_total'] ?? 0;
      if (total - told >= (turns * trajectories) / 10) {
        told = total;
        say(`${whole(total)} turns, ${figures['trajectories_total'] ?? 0} trajectories`);
      }
      if (figures['trajectories_total'] === trajectories) done();
    },
  });
  const recorded = new Promise<void>((fulfil) => (done = fulfil));
  const ended = child.exited.then(({ code, signal }) => {
    const last = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-3).join('\n');
    throw new Error(`the worker ended with ${signal ?? `code ${String(code)}`}: ${last}`);
  });
  ended.catch(() => undefined);
  const late = new Promise<never>((_, reject) => {
    setTimeout(reject, limitMs, new Error(`the trajectories took more than ${flags.minutes} minutes`)).unref();
  });
  late.catch(() => undefined);
  return { pid: child.pid, finished: Promise.race([recorded, ended, late]), stop: () => child.stop() };
}

async function measure(site: BenchSite, memory: string): Promise<MemoryMeasurement> {
  const namespace = `llm-${memory}`;
  const kafka = await site.connect(namespace);
  const urls = factbookProfiles()
    .slice(0, 40)
    .map(({ url }) => url);
  const queries = factbookProfiles().map(({ title }) => `capital of ${title} population exports`);
  const script = researcher({
    ...{ urls, queries, turns, opensEvery: 27 },
    ...{ thoughtChars: Number(flags['thought-chars']), beforeMs: Number(flags['generation-ms']) },
  });
  const server = await startLlmServer(script);
  site.defer(() => server.close());
  await ask(kafka, namespace);
  const began = performance.now();
  const worker = await startWorker(site, {
    ...{ TURNSTREAM_NAMESPACE: namespace, TURNSTREAM_POLICY: 'llm', TURNSTREAM_LLM_URL: server.url, TURNSTREAM_LLM_MODEL: 'scripted' },
    ...{ TURNSTREAM_LLM_MEMORY: memory, TURNSTREAM_LLM_API: memory === 'bounded' ? 'chat' : 'completions' },
    ...{ TURNSTREAM_WORKER_CONCURRENCY: String(trajectories), TURNSTREAM_LLM_CONCURRENCY: String(trajectories) },
  });
  site.signal.addEventListener('abort', () => void worker.stop());
  try {
    await worker.finished;
    const seconds = (performance.now() - began) / 1_000;
    const figures = { peakMb: peakOf(worker.pid) / MB, tensors: hasTensors(worker.pid) };
    return { memory, ...figures, seconds, ...server.seen(), ends: await endsIn(kafka, site) };
  } finally {
    await worker.stop();
  }
}

const least = (ends: readonly TrajectoryFinished[], of: (end: TrajectoryFinished) => number): number => Math.min(...ends.map(of));

function targetsOf({ memory, peakMb, ends, tensors }: MemoryMeasurement) {
  const answered = ends.filter(({ status, turns: made }) => status === 'answered' && made === turns).length;
  const calls = least(ends, ({ tool_calls: count }) => count);
  const tokens = least(ends, ({ completion_tokens: count }) => count);
  const share = turns / 128;
  const rows: readonly (readonly [string, string, string, boolean])[] = [
    ['peak resident memory of the worker', `under ${MB_OF_TARGET} MB`, `${whole(peakMb)} MB`, peakMb < MB_OF_TARGET],
    [`trajectories answered after ${turns} turns`, String(trajectories), String(answered), answered === trajectories],
    ['fewest tool calls', `at least ${CALLS_OF_TARGET}`, String(calls), calls >= CALLS_OF_TARGET],
    ['fewest tokens written', `at least ${whole(TOKENS_OF_TARGET * share)}`, whole(tokens), tokens >= TOKENS_OF_TARGET * share],
    ['tensor library loaded', 'no', tensors ? 'yes' : 'no', !tensors],
  ];
  return rows.map(([what, wanted, found, met]) => ({ what: `${memory}: ${what}`, wanted, found, met }));
}

async function bench(): Promise<boolean> {
  const environment = describeEnvironment();
  const measured = await withSite(async (site) => {
    const all: MemoryMeasurement[] = [];
    for (const memory of flags.memory.split(',')) {
      say(`${memory}: ${trajectories} trajectories of ${turns} turns`);
      all.push(await measure(site, memory));
    }
    return all;
  });
  return publish(
    {
      name: 'llm-memory',
      title: 'Memory of a worker that drives a language model',
      method:
        'One worker process runs all trajectories at once against a scripted model on HTTP: searches, opened pages read piece by piece, long thoughts, an answer at the end. Peak resident memory is what Linux reports for the process.',
      quick: flags.quick,
      ...{
        environment,
        parameters: { trajectories, turns, 'thought-chars': flags['thought-chars'], 'generation-ms': flags['generation-ms'] },
      },
      table: {
        columns: ['memory', 'peak MB', 'seconds', 'requests', 'at once', 'turns', 'tool calls', 'tokens a trajectory'],
        rows: measured.map(({ memory, peakMb, seconds, requests, atOnce, ends }) => [
          ...[memory, whole(peakMb), whole(seconds), whole(requests), String(atOnce)],
          whole(ends.reduce((sum, end) => sum + end.turns, 0)),
          whole(ends.reduce((sum, end) => sum + end.tool_calls, 0)),
          whole(least(ends, ({ completion_tokens: tokens }) => tokens)),
        ]),
      },
      targets: measured.flatMap(targetsOf),
      figures: measured.map(({ ends, ...rest }) => ({ ...rest, trajectories: ends.length })),
    },
    flags.out,
  );
}

if (flags.help) {
  process.stdout.write(
    'npm run bench llm-memory -- [--trajectories n] [--turns n] [--thought-chars n] [--generation-ms n] [--memory transcript,bounded] [--minutes n] [--out directory] [--quick]\n',
  );
} else {
  process.exitCode = (await bench()) ? 0 : 1;
}
