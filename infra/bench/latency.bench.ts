// Measures the time from producing a turn until it can be selected, while thousands of turns per second come in. `npm run bench latency`
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { startProbe } from './latency-probe.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { percentile } from './statistics.ts';
import { startTablesWorld } from './tables-world.ts';

const { values: flags } = parseArgs({
  options: {
    rate: { type: 'string', default: '5000' },
    minutes: { type: 'string', default: '10' },
    'turn-bytes': { type: 'string', default: '2000' },
    partitions: { type: 'string', default: '4' },
    probes: { type: 'string', default: '20' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const [P50_MS, P99_MS] = [700, 1_500];
const WARM_MS = flags.quick ? 5_000 : 20_000;
const LOOK_MS = 5_000;
const DRAINED_MS = 60_000;

/** Taken every 5 seconds. */
interface LagSample {
  readonly second: number;
  readonly lag: number;
  readonly rows: number;
}

interface LatencyResult {
  readonly times: readonly number[];
  readonly looks: readonly LagSample[];
  readonly turnsPerSecond: number;
  /** Lag when the load ended, in records, and the time to catch up, ms. */
  readonly lagAtEnd: number;
  readonly drainedMs: number;
}

async function measure(site: BenchSite): Promise<LatencyResult> {
  const world = await startTablesWorld(site, 'latency', Number(flags.partitions));
  const sink = await world.startWarehouse();
  await sink.until(({ state }) => state === 'live');
  const load = world.begin('load', '--rate', flags.rate, '--turn-bytes', flags['turn-bytes'], '--concurrent', '2000', '--run', 'latency');
  const rowsOf = async (): Promise<number> => (await world.store.query<{ n: number }>('select count() as n from turns'))[0]?.n ?? 0;
  while ((await rowsOf()) === 0) await sleep(LOOK_MS / 10, undefined, { signal: site.signal });
  await sleep(WARM_MS);
  const probe = startProbe({ store: world.store, writer: await world.kafka.writer(), rate: Number(flags.probes), textBytes: 1_000 });
  const [began, first] = [performance.now(), await rowsOf()];
  const lastsMs = flags.quick ? 15_000 : Number(flags.minutes) * 60_000;
  const looks: LagSample[] = [];
  while (performance.now() - began < lastsMs) {
    site.signal.throwIfAborted();
    await sleep(Math.min(LOOK_MS, lastsMs));
    const look = { second: Math.round((performance.now() - began) / 1_000), lag: await world.lag(), rows: await rowsOf() };
    looks.push(look);
    if (looks.length % 6 === 0) say(`${look.second} s: ${whole(look.rows)} rows, ${whole(look.lag)} records behind`);
  }
  const seconds = (performance.now() - began) / 1_000;
  const turnsPerSecond = ((await rowsOf()) - first) / seconds;
  const times = await probe.stop();
  const lagAtEnd = await world.lag();
  await load.stop();
  const ended = performance.now();
  while ((await world.lag()) > 0 && performance.now() - ended < DRAINED_MS) await sleep(50);
  return { times, looks, turnsPerSecond, lagAtEnd, drainedMs: performance.now() - ended };
}

function reportOf(
  { times, looks, turnsPerSecond, lagAtEnd, drainedMs }: LatencyResult,
  environment: BenchReport['environment'],
): BenchReport {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => percentile(times, share)) as [number, number, number];
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const rate = Number(flags.rate);
  return {
    name: 'latency',
    title: 'Time from producing a turn to reading it with a SELECT',
    method:
      `A real Kafka, the embedded ClickHouse and one warehouse with its default settings on the same machine, \`turnstream load\` at ${flags.rate} turns/s of ${flags['turn-bytes']} bytes. ` +
      `A probe also writes ${flags.probes} turns per second of a separate run, spread over all partitions, and queries each until it appears. Times run from before the send until the response has been read.`,
    quick: flags.quick,
    environment,
    parameters: { rate, minutes: flags.minutes, 'turn bytes': flags['turn-bytes'], partitions: flags.partitions, probes: times.length },
    table: {
      columns: ['turns/s stored', 'p50', 'p90', 'p99', 'slowest', 'records behind at the end', 'time to catch up'],
      rows: [[whole(turnsPerSecond), ms(p50), ms(percentile(times, 0.9)), ms(p99), ms(worst), whole(lagAtEnd), ms(drainedMs)]],
    },
    targets: [
      { what: 'p50', wanted: `under ${P50_MS} ms`, found: ms(p50), met: p50 < P50_MS },
      { what: 'p99', wanted: `under ${P99_MS} ms`, found: ms(p99), met: p99 < P99_MS },
      { what: 'turns/s stored', wanted: whole(rate), found: whole(turnsPerSecond), met: turnsPerSecond > rate * 0.99 },
      { what: 'behind at the end', wanted: 'under a second of records', found: whole(lagAtEnd), met: lagAtEnd < rate },
    ],
    figures: { p50, p99, worst, turnsPerSecond, lagAtEnd, drainedMs, looks },
  };
}

if (flags.help) {
  process.stdout.write(
    'npm run bench latency -- [--rate 5000] [--minutes 10] [--turn-bytes 2000] [--partitions 4] [--probes 20] [--out dir] [--quick]\n',
  );
} else {
  const environment = describeEnvironment();
  const report = reportOf(await withSite(measure), environment);
  if (!(await publish(report, flags.out))) process.exitCode = flags.quick ? 0 : 1;
}
