// Measures the restart of a trainer that has much to refold: 50,000 open trajectories and 2,000,000 turns after the resume point of its
// last step. Reports the time from the start of the process to the first plan, the memory, and whether the next step is right: with the
// snapshot that the killed trainer left, and without it. `npm run bench restart`
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { OfferedTask } from '../../producers/load/fleet.ts';
import { SYNTHETIC_DATASET } from '../../producers/load/load.ts';
import { defaultShape, type LoadShape } from '../../producers/load/shape.ts';
import { writeLoad } from '../../producers/load/write-load.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { readClosed } from '../e2e/torture/facts.ts';
import { judgeRun, type OracleVerdict } from '../e2e/torture/oracle.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import { pause } from '../lifecycle/waiting.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { restartOnce, type Restart } from './restart-once.ts';
import { median } from './statistics.ts';
import { answersOf, readAsked, type AskedTask } from './synthetic-answers.ts';
import { writeSyntheticQuestions } from './synthetic-questions.ts';
import { startTrainer, type ProcessUse, type WatchedTrainer } from './trainer-child.ts';

const { values: flags } = parseArgs({
  options: {
    trajectories: { type: 'string', default: '50000' },
    turns: { type: 'string', default: '2000000' },
    'turn-bytes': { type: 'string', default: '300' },
    rounds: { type: 'string', default: '6' },
    minutes: { type: 'string', default: '40' },
    out: { type: 'string' },
    hold: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const RUN = 'synthetic-restart';
const NAMESPACE = 'restart';
const GROUP_SIZE = 8;
const BATCH_GROUPS = 32;
/** Steps before the restart, so that versions, counters and the resume point differ from those of a new run. */
const STEPS_BEFORE = 3;
/** Groups that finish after the restart: a batch, and some that are discarded. */
const FINISHED_AFTER = BATCH_GROUPS + 8;
const MS_OF_TARGET = 10_000;
const BYTES_OF_TARGET = 1.2e9;
const LIMIT_MS = 300_000;

const trajectories = flags.quick ? 2_000 : Number(flags.trajectories);
const turns = flags.quick ? 40_000 : Number(flags.turns);
const groups = Math.ceil(trajectories / GROUP_SIZE);

const settings = {
  TURNSTREAM_GROUP_SIZE: String(GROUP_SIZE),
  TURNSTREAM_BATCH_GROUPS: String(BATCH_GROUPS),
  TURNSTREAM_MAX_CONCURRENT: String(groups),
  TURNSTREAM_MAX_STALENESS: String(Math.min(1_000, Math.ceil(groups / BATCH_GROUPS) + STEPS_BEFORE)),
  // nobody writes while the trainer is down, which must not count as silent workers
  TURNSTREAM_SILENCE_MS: '3600000',
  TURNSTREAM_MAX_WALL_MS: '86400000',
  TURNSTREAM_PARTITIONS_ROLLOUTS: '8',
} as const;

const shape: LoadShape = { ...defaultShape, faults: 0, turnBytes: Number(flags['turn-bytes']), meanTurns: 8 };
const openShape: LoadShape = { ...shape, meanTurns: turns / trajectories, turnsSigma: 0 };

interface RestartStage {
  readonly site: BenchSite;
  readonly kafka: KafkaConnection;
  readonly startTrainer: () => Promise<WatchedTrainer>;
}

async function write(stage: RestartStage, load: Parameters<typeof writeLoad>[0]['load']): Promise<number> {
  const writer = await stage.kafka.writer();
  const now = (): number => performance.now();
  const counts = await writeLoad({ load, writer, rate: 0, signal: stage.site.signal, now, pause });
  stage.site.signal.throwIfAborted();
  return counts.turns;
}

const offer =
  (unfinished: boolean) =>
  (asked: AskedTask): OfferedTask => ({ ...asked, unfinished });

interface Prologue {
  readonly trainer: WatchedTrainer;
  /** Groups that have been answered. */
  readonly answered: ReadonlySet<string>;
}

/** Admits all groups and makes some steps. */
async function prologue(stage: RestartStage): Promise<Prologue> {
  const trainer = await stage.startTrainer();
  await trainer.until('admission', ({ figures }) => figures['running'] === groups, LIMIT_MS);
  say(`${whole(groups)} groups admitted`);
  const asked = await readAsked(stage.kafka.reader(), stage.site.codec, RUN);
  const answered = asked.filter(({ task }) => task.group_index < BATCH_GROUPS * STEPS_BEFORE + 8);
  await write(stage, answersOf(answered.map(offer(false)), { shape, startMs: Date.now(), places: 512, versionAt: () => 0 }));
  await trainer.until('the steps before', ({ figures }) => figures['step'] === STEPS_BEFORE, LIMIT_MS);
  await trainer.until('admission', ({ figures }) => (figures['running'] ?? 0) >= groups, LIMIT_MS);
  return { trainer, answered: new Set(answered.map(({ task }) => task.group_id)) };
}

interface Behind {
  readonly open: number;
  readonly turns: number;
  /** Resource usage of the trainer that folded the turns live. */
  readonly use: ProcessUse;
  /** Ends of attempts that have not been written yet. */
  readonly ends: readonly OutgoingEvent[];
}

/** Every open trajectory gets its turns but no end, and the trainer folds them; then it is killed. `ends` are of the oldest groups. */
async function writeBehind(stage: RestartStage, { trainer, answered }: Prologue): Promise<Behind> {
  const asked = (await readAsked(stage.kafka.reader(), stage.site.codec, RUN)).filter(({ task }) => !answered.has(task.group_id));
  const open = asked.map(offer(false));
  const startMs = Date.now();
  const versionAt = (ms: number): number => Math.min(STEPS_BEFORE, Math.floor((ms - startMs) / 60_000));
  const oldest = new Set([...new Set(asked.map(({ task }) => task.group_id))].slice(0, FINISHED_AFTER));
  const ends: OutgoingEvent[] = [];
  const load = answersOf(open, { shape: openShape, startMs, places: open.length, versionAt }, (event) => {
    if (oldest.has(event.event.group_id)) ends.push(event);
    return true;
  });
  const written = await write(stage, load);
  await trainer.until('the end of the log', ({ figures }) => figures['lag'] === 0, LIMIT_MS);
  const use = trainer.use();
  process.kill(trainer.pid, 'SIGKILL');
  return { open: open.length, turns: written, use, ends };
}

async function restart(stage: RestartStage, snapshot: boolean): Promise<Restart> {
  const done = await restartOnce({ dataDir: stage.site.dataDir, run: RUN }, () => stage.startTrainer(), snapshot);
  const running = done.status?.figures['running'];
  if (running !== groups) throw new Error(`the trainer came back with ${running ?? 0} open groups, ${groups} were open`);
  return done;
}

interface After {
  readonly stepMs: number;
  readonly use: ProcessUse;
  readonly verdict: OracleVerdict;
}

/** Restarts once more, finishes a batch, and checks the next step. */
async function stepAfter(stage: RestartStage, ends: readonly OutgoingEvent[]): Promise<After> {
  const trainer = await stage.startTrainer();
  await trainer.until('the first plan', ({ state }) => state === 'live', LIMIT_MS);
  const began = performance.now();
  await (await stage.kafka.writer()).append(ends);
  await trainer.until('the step after', ({ figures }) => figures['step'] === STEPS_BEFORE + 1, LIMIT_MS);
  const stepMs = performance.now() - began;
  await sleep(2_000); // the plan after the step admits new groups
  const use = trainer.use();
  await trainer.stop();
  return { stepMs, use, verdict: judgeRun(await readClosed(stage.kafka.reader(), stage.site.codec, RUN)) };
}

interface RestartResults {
  readonly behind: Omit<Behind, 'ends'>;
  readonly restarts: readonly Restart[];
  readonly after: After;
}

function reportOf({ behind, restarts, after }: RestartResults, environment: BenchReport['environment']): BenchReport {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;
  const liveMs = median(restarts.filter(({ snapshot }) => snapshot).map((restart) => restart.liveMs));
  const peak = Math.max(behind.use.peak, after.use.peak, ...restarts.map(({ use }) => use.peak));
  const { verdict } = after;
  return {
    name: 'restart',
    title: 'Restart: a trainer with much behind its resume point',
    method:
      'A real trainer (`turnstream trainer`) on a real broker of the same machine makes some steps, its open trajectories get their turns, and it is killed when it has folded them and left a snapshot. ' +
      'Timed from the start of the new process to its report after the first plan; memory is what Linux counts as resident, at its highest. ' +
      'Then the oldest groups finish, and the oracle of the torture test judges the ledger, the step after the restart included. Every second restart has the snapshot deleted and folds everything again.',
    quick: flags.quick,
    environment,
    parameters: {
      open: whole(behind.open),
      turns: whole(behind.turns),
      'turn bytes': flags['turn-bytes'],
      partitions: 8,
      restarts: restarts.length,
    },
    table: {
      columns: ['restart', 'snapshot', 'back to work', 'CPU time', 'resident then', 'at its highest'],
      rows: [
        ['the killed one', 'kept', '', seconds(behind.use.cpuMs), gigabytes(behind.use.resident), gigabytes(behind.use.peak)],
        ...restarts.map(({ snapshot, liveMs: ms, use }, at) => [
          String(at + 1),
          snapshot ? 'as it was left' : 'deleted',
          seconds(ms),
          seconds(use.cpuMs),
          gigabytes(use.resident),
          gigabytes(use.peak),
        ]),
        [
          'with a step',
          'as it was left',
          `${seconds(after.stepMs)} from the last end to the step`,
          seconds(after.use.cpuMs),
          gigabytes(after.use.resident),
          gigabytes(after.use.peak),
        ],
      ],
    },
    targets: [
      { what: 'back to work', wanted: `under ${seconds(MS_OF_TARGET)}`, found: seconds(liveMs), met: liveMs < MS_OF_TARGET },
      { what: 'resident memory', wanted: `under ${gigabytes(BYTES_OF_TARGET)}`, found: gigabytes(peak), met: peak < BYTES_OF_TARGET },
      {
        what: 'the step after it is right',
        wanted: '0 problems',
        found: `${verdict.problems.length} problems in ${verdict.steps} steps`,
        met: verdict.problems.length === 0 && verdict.steps === STEPS_BEFORE + 1,
      },
    ],
    figures: { behind, restarts, after },
  };
}

/** For a profiler: prints how to start the trainer by hand, and waits for Ctrl-C. */
async function hold({ brokers, dataDir, signal }: BenchSite): Promise<void> {
  const env = { KAFKA_BROKERS: brokers.join(','), TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_NAMESPACE: NAMESPACE, ...settings };
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  say(`${assignments.join(' ')} node --cpu-prof infra/cli/turnstream.mjs trainer --run ${RUN} --dataset ${SYNTHETIC_DATASET}`);
  await new Promise((resolve) => {
    const alive = setInterval(() => undefined, 60_000);
    signal.addEventListener('abort', resolve);
    signal.addEventListener('abort', () => {
      clearInterval(alive);
    });
  });
  signal.throwIfAborted();
}

async function main(): Promise<void> {
  const environment = describeEnvironment();
  const results = await withSite(async (site): Promise<RestartResults> => {
    const kafka = await site.connect(NAMESPACE);
    await writeSyntheticQuestions(await kafka.writer(), 64);
    const start = { brokers: site.brokers, dataDir: site.dataDir, namespace: NAMESPACE, run: RUN, dataset: SYNTHETIC_DATASET, settings };
    const stage: RestartStage = {
      site,
      kafka,
      async startTrainer() {
        const trainer = await startTrainer(start);
        site.defer(() => trainer.stop());
        return trainer;
      },
    };
    const { ends, ...behind } = await writeBehind(stage, await prologue(stage));
    say(`${whole(behind.turns)} turns of ${whole(behind.open)} open trajectories behind the resume point`);
    if (flags.hold) await hold(site);
    const restarts: Restart[] = [];
    for (let round = 1; round <= Number(flags.rounds); round += 1) {
      site.signal.throwIfAborted();
      const done = await restart(stage, round % 2 === 1);
      restarts.push(done);
      say(
        `restart ${round}, snapshot ${done.snapshot ? 'as it was left' : 'deleted'}: ${(done.liveMs / 1_000).toFixed(1)} s, ${(done.use.cpuMs / 1_000).toFixed(1)} s of CPU, ${whole(done.use.peak / 1e6)} MB`,
      );
    }
    const after = await stepAfter(stage, ends);
    for (const { text } of after.verdict.problems.slice(0, 10)) say(text);
    return { behind, restarts, after };
  });
  if (!(await publish(reportOf(results, environment), flags.out))) process.exitCode = flags.quick ? 0 : 1;
}

if (flags.help) {
  process.stdout.write(
    'npm run bench restart -- [--trajectories 50000] [--turns 2000000] [--turn-bytes 300] [--rounds 6] [--minutes 40] [--out dir] [--quick] [--hold]\n',
  );
} else {
  const limit = setTimeout(() => process.kill(process.pid, 'SIGTERM'), Number(flags.minutes) * 60_000);
  await main();
  clearTimeout(limit);
}
