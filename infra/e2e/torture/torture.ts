// `npm run torture -- --minutes M --kills N --seed S`: runs a real training run under a seeded schedule of kills, freezes, cut connections,
// lost offsets and records, full disks and wrong clocks. Afterwards an oracle that reads only the raw log and the tables checks the result.
// Exit code 1 when a guarantee was violated, or when the run did not recover from a fault by itself.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createCodec } from '../../../schemas/codec.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Logger, Store } from '../../../streams/core/ports.ts';
import { connectStore } from '../../clickhouse/client.ts';
import { connectKafka } from '../../kafka/connect.ts';
import { silentLogger } from '../../testing/logger.ts';
import { canMountDisk } from '../../testing/small-disk.ts';
import { flagsOr } from '../flags.ts';
import { readFactsAfter } from './facts.ts';
import { judgeRun } from './oracle.ts';
import { reportOf, tableOf, type TortureFindings, type TortureSettings } from './report.ts';
import { faultKinds, scheduleOf } from './schedule.ts';
import { createSigns, type LogMark, type RecoverySigns } from './signs.ts';
import { isSurvived, nameOf, strike, type Struck } from './strike.ts';
import { judgeTables, type TablesVerdict } from './tables.ts';
import type { AppendTimeline } from './timeline.ts';
import { watchEnds } from './watch-ends.ts';
import { startWorld, type TortureWorld } from './world.ts';
import { pause } from '../../lifecycle/waiting.ts';

const logger: Logger = silentLogger;
const NAMESPACE = 'turnstream';
const say = (text: string): void => void process.stdout.write(`${text}\n`);
/** Short deadlines, so that a fault costs seconds and a test of minutes fits many. */
const [heartbeatMs, silenceMs] = [1_000, 6_000];
const env = { TURNSTREAM_HEARTBEAT_MS: String(heartbeatMs), TURNSTREAM_SILENCE_MS: String(silenceMs), TURNSTREAM_LOG_LEVEL: 'info' };
/** A policy that does not learn gives most groups equal rewards; only REINFORCE trains on such groups. */
const externalEnv = {
  TURNSTREAM_TRAINER: 'external',
  TURNSTREAM_ALGORITHM: 'reinforce',
  TURNSTREAM_MAX_DISCARDED: '1',
  TURNSTREAM_LEASE_MS: '8000',
};
const SETTLE_TIMEOUT_MS = 600_000;
const DRAIN_TIMEOUT_MS = 240_000;
/** Maximum number of faults from which the run may still be recovering when the next one starts. */
const WAITING_FOR = 3;

interface TortureOptions {
  readonly settings: TortureSettings;
  /** Maximum recovery time of a fault. */
  readonly patienceMs: number;
  readonly out: string;
}

const HELP = `npm run torture -- [flags]

  --minutes M   how long the run is struck (3)
  --kills N     faults in that time (12)
  --seed S      which ones, and when (1)
  --brokers B   1 or 3 (1)
  --workers W   (1)
  --trainer T   built-in, or external: a process that trains through the API and is struck as well (built-in)
  --only a,b    these strikes alone, of ${faultKinds.join(', ')}
  --patience S  seconds in which a fault has to be survived (300)
  --out FILE    the report as JSON`;

function askedFor(args: readonly string[]): TortureOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '3' },
      kills: { type: 'string', default: '12' },
      seed: { type: 'string', default: '1' },
      workers: { type: 'string', default: '1' },
      trainer: { type: 'string', default: 'built-in' },
      brokers: { type: 'string', default: '1' },
      only: { type: 'string' },
      patience: { type: 'string', default: '300' },
      out: { type: 'string', default: '' },
    },
  });
  const figure = (name: 'minutes' | 'kills' | 'seed' | 'workers' | 'brokers' | 'patience'): number => {
    const value = Number(values[name]);
    if (Number.isFinite(value) && value > 0 && (name === 'minutes' || Number.isInteger(value))) return value;
    throw new RangeError(`--${name} must be a number over 0, got ${values[name]}`);
  };
  if (!['built-in', 'external'].includes(values.trainer))
    throw new RangeError(`--trainer must be built-in or external, got ${values.trainer}`);
  const settings = {
    minutes: figure('minutes'),
    faults: figure('kills'),
    seed: figure('seed'),
    workers: figure('workers'),
    brokers: figure('brokers'),
    disks: canMountDisk,
    external: values.trainer === 'external',
  };
  if (isFolder(values.out)) throw new RangeError(`--out must be a file, got the folder ${values.out}`);
  const only = values.only === undefined ? {} : { only: values.only.split(',') };
  return { settings: { ...settings, ...only }, patienceMs: figure('patience') * 1_000, out: values.out };
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

interface Tormented {
  readonly struck: readonly Struck[];
  readonly tookMs: number;
  readonly broken: string;
  readonly timeline: AppendTimeline;
}

/**
 * Injects the faults, each at its time. The next one starts whether or not the run has recovered from the previous one, as long as only a
 * few are pending.
 */
async function torment(world: TortureWorld, signs: RecoverySigns, { settings, patienceMs }: TortureOptions): Promise<Tormented> {
  const beganMs = Date.now();
  const struck: Struck[] = [];
  const waiting = new Set<Promise<void>>();
  const faults = scheduleOf(settings);
  const ends = watchEnds(world.brokers.addresses, beganMs);
  let broken = '';
  for (const [i, fault] of faults.entries()) {
    await pause(Math.max(0, beganMs + fault.atMs - Date.now()));
    if (waiting.size >= WAITING_FOR) await Promise.race(waiting);
    broken = world.ended() === undefined ? '' : `turnstream up ended with ${world.ended() ?? ''} before fault ${i + 1}`;
    if (broken !== '') break;
    try {
      const { over } = await strike(fault, { world, signs, beganMs, timeoutMs: patienceMs });
      const watched = over.then((one) => {
        waiting.delete(watched);
        struck.push(one);
        say(`${String(i + 1).padStart(4)}/${faults.length}  ${nameOf(fault).padEnd(36)} ${describe(one)}`);
        if (one.detail !== undefined) say(`${' '.repeat(11)}${one.detail}`);
      });
      waiting.add(watched);
    } catch (error) {
      broken = `fault ${i + 1}, ${nameOf(fault)}: ${messageOf(error)}`;
      break;
    }
  }
  await Promise.all(waiting);
  await pause(broken === '' ? Math.max(0, beganMs + settings.minutes * 60_000 - Date.now()) : 0);
  await ends.close();
  return { struck: struck.sort((a, b) => a.atMs - b.atMs), tookMs: Date.now() - beganMs, broken, timeline: ends.timeline };
}

function describe(one: Struck): string {
  if (!isSurvived(one)) return 'NOT SURVIVED';
  return `${one.sign} after ${one.backMs ?? ''} ms${one.sign === 'next step' ? '' : `, next step after ${one.nextStepMs ?? ''} ms`}`;
}

/** Reads the log and the tables once the sink has stored everything. */
async function judge(world: TortureWorld, { struck, timeline }: Tormented): Promise<Pick<TortureFindings, 'verdict' | 'tables'>> {
  const codec = createCodec();
  const kafka = connectKafka({ brokers: world.brokers.addresses(), clientId: 'oracle', namespace: NAMESPACE, codec, logger });
  const store = connectStore({ ...world.store, database: 'turnstream' });
  const strikes = struck.map(({ fault: { kind, target }, atMs, untilMs }) => ({ kind, target, fromMs: atMs, toMs: untilMs }));
  try {
    const taken = struck.flatMap(({ gone }) => gone ?? []);
    const { facts, contents } = await readFactsAfter(kafka.reader(), codec, { runId: world.run, taken });
    const verdict = judgeRun(facts, { timeline, strikes, silenceMs, heartbeatMs });
    const tables = await judgeTables(store, contents);
    if (tables.problems.length > 0) writeFileSync(join(world.dir, 'tables.json'), JSON.stringify(await evidenceOf(store, tables), null, 2));
    return { verdict, tables };
  } finally {
    await store.close();
    await kafka.close();
  }
}

/** The engine's view of the tables that differ from the log. */
async function evidenceOf(store: Store, { problems }: TablesVerdict) {
  const [parts, detached] = await Promise.all([
    store.query("select table, name, active, rows, modification_time from system.parts where database = 'turnstream' order by table, name"),
    store.query("select table, name, reason from system.detached_parts where database = 'turnstream' order by table, name"),
  ]);
  return { detached, parts, problems };
}

const NOTHING: LogMark = { steps: 0, records: 0, stored: 0 };

/** Resolves when everything works: a step has completed, and the sink has stored records. */
async function atWork(signs: RecoverySigns, world: TortureWorld): Promise<void> {
  const ended = (): boolean => world.ended() !== undefined;
  const { backMs, nextStepMs } = await signs.back('warehouse', NOTHING, { timeoutMs: SETTLE_TIMEOUT_MS, ended });
  if (backMs === undefined || nextStepMs === undefined)
    throw new Error(ended() ? 'turnstream up ended before the first step' : 'the run made no step');
}

async function main(): Promise<number> {
  const asked = flagsOr(HELP, () => askedFor(process.argv.slice(2)));
  const { settings, out } = asked;
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-torture-'));
  const run = `torture-${settings.seed}`;
  const [program, libsDir] = [join(root, 'infra/cli/turnstream.mjs'), join(root, '.turnstream/kafka/libs')];
  say(`torturing run ${run}: ${settings.faults} faults in ${settings.minutes} minutes, ${settings.brokers} broker(s); logs in ${dir}`);
  const world = await startWorld({
    dir,
    program,
    libsDir,
    run,
    ...settings,
    logger,
    env: { ...env, ...(settings.external ? externalEnv : {}) },
  });
  const apiUrl = (): string | undefined => world.services()?.apiUrl;
  let isOk = false;
  const signs = createSigns({ namespace: NAMESPACE, run, brokers: world.brokers.addresses, apiUrl, logger });
  try {
    await atWork(signs, world);
    const tormented = await torment(world, signs, asked);
    await signs.close();
    await world.stopUp();
    const drained = await world.drain(AbortSignal.timeout(DRAIN_TIMEOUT_MS));
    const broken = drained || tormented.broken !== '' ? tormented.broken : 'the sink did not store the whole log';
    const report = reportOf({ settings, ...tormented, broken, ...(await judge(world, tormented)) });
    for (const line of tableOf(report)) say(line);
    if (out !== '') {
      mkdirSync(dirname(out), { recursive: true });
      writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`);
    }
    isOk = report.ok;
    return isOk ? 0 : 1;
  } finally {
    await world.close(!isOk);
    if (isOk) rmSync(dir, { recursive: true, force: true });
    else say(`logs and data are kept in ${dir}`);
  }
}

// Explicit, because Node would wait forever for a half-closed connection.
process.exit(await main());
