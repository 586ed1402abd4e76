// Measures the effect of slow reads on the sink: twenty clients of POST /v1/sql run back-to-back queries up to their limit while turns come
// in, and the bench measures how long a turn takes until it can be selected. `npm run bench heavy`
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
    turns: { type: 'string', default: '300000' },
    rate: { type: 'string', default: '2000' },
    queries: { type: 'string', default: '20' },
    minutes: { type: 'string', default: '3' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const P99_MS = 3_000;

/** Endless queries, each heavy on something else: CPU, memory, strings, sorting. */
const HEAVY = [
  'SELECT sum(cityHash64(a.event_id, b.event_id)) AS n FROM turns AS a CROSS JOIN turns AS b',
  'SELECT a.trajectory_id, uniqExact(b.event_id, a.turn) AS n FROM turns AS a CROSS JOIN turns AS b GROUP BY a.trajectory_id ORDER BY n DESC LIMIT 10',
  'SELECT count() AS n FROM turns AS a CROSS JOIN turns AS b WHERE positionCaseInsensitive(a.tool_result, b.event_id) > 0',
  'SELECT a.event_id, b.event_id FROM turns AS a CROSS JOIN turns AS b ORDER BY cityHash64(a.event_id, b.event_id) LIMIT 10',
] as const;

interface Heavies {
  readonly answers: ReadonlyMap<string, number>;
  readonly stop: () => Promise<void>;
}

const isStopped = (signal: AbortSignal): boolean => signal.aborted;

/** Each client sends the next query as soon as it has a response. */
function askHeavily(api: string): Heavies {
  const answers = new Map<string, number>();
  const end = new AbortController();
  const client = async (number: number): Promise<void> => {
    for (let asked = number; !end.signal.aborted; asked += 1) {
      const body = JSON.stringify({ query: HEAVY[asked % HEAVY.length], format: 'JSON' });
      const headers = { 'content-type': 'application/json' };
      try {
        const answer = await fetch(`${api}/v1/sql`, { method: 'POST', headers, body, signal: end.signal });
        const text = await answer.text();
        const what = answer.ok ? '200' : `${answer.status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`;
        answers.set(what, (answers.get(what) ?? 0) + 1);
      } catch (error) {
        if (!isStopped(end.signal)) throw error;
      }
    }
  };
  const clients = Promise.all(Array.from({ length: Number(flags.queries) }, (_, number) => client(number)));
  clients.catch(() => {
    end.abort();
  });
  return {
    answers,
    async stop() {
      end.abort();
      await clients;
    },
  };
}

interface HeavyResult {
  readonly alone: readonly number[];
  readonly beside: readonly number[];
  readonly answers: ReadonlyMap<string, number>;
  readonly lagAtEnd: number;
}

async function measure(site: BenchSite): Promise<HeavyResult> {
  const world = await startTablesWorld(site, 'heavy', 4);
  const turns = flags.quick ? '20000' : flags.turns;
  await world.command('load', '--turns', turns, '--run', 'before');
  const sink = await world.startWarehouse();
  await sink.until(({ state }) => state === 'live');
  while ((await world.lag()) > 0) await sleep(200);
  const api = await world.startApi();
  const load = world.begin('load', '--rate', flags.rate, '--run', 'beside');
  const lastsMs = flags.quick ? 10_000 : Number(flags.minutes) * 60_000;
  const probe = async (ms: number): Promise<readonly number[]> => {
    const started = startProbe({ store: world.store, writer: await world.kafka.writer(), rate: 20, textBytes: 1_000 });
    await sleep(ms, undefined, { signal: site.signal });
    return started.stop();
  };
  const rowsBeside = async (): Promise<number> =>
    (await world.store.query<{ n: number }>("select count() as n from turns where run_id = 'beside'"))[0]?.n ?? 0;
  while ((await rowsBeside()) === 0) await sleep(500, undefined, { signal: site.signal });
  await sleep(flags.quick ? 1_000 : 15_000);
  say('the sink alone');
  const alone = await probe(lastsMs / 3);
  say(`${flags.queries} heavy queries`);
  const heavies = askHeavily(api);
  await sleep(1_000);
  const beside = await probe(lastsMs);
  const lagAtEnd = await world.lag();
  await heavies.stop();
  await load.stop();
  return { alone, beside, answers: heavies.answers, lagAtEnd };
}

function reportOf({ alone, beside, answers, lagAtEnd }: HeavyResult, environment: BenchReport['environment']): BenchReport {
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const row = (name: string, times: readonly number[]): readonly string[] => [
    name,
    ...[0.5, 0.9, 0.99, 1].map((share) => ms(percentile(times, share))),
  ];
  const p99 = percentile(beside, 0.99);
  const others = [...answers].map(([what, count]) => `${count} × ${what}`).join(', ');
  const failed = [...answers].some(([what]) => what.startsWith('500'));
  return {
    name: 'heavy',
    title: 'The sink beside heavy queries',
    method:
      `\`turnstream load\` at ${flags.rate} turns/s over a table of ${flags.quick ? '20000' : flags.turns} turns, and ${flags.queries} clients of POST /v1/sql that ask for cross joins of the turns, which end at their limits, again and again. ` +
      `A time is from before a turn is produced until a SELECT has it. The queries were answered: ${others}.`,
    quick: flags.quick,
    environment,
    parameters: { rate: flags.rate, queries: flags.queries, minutes: flags.minutes },
    table: { columns: ['', 'p50', 'p90', 'p99', 'slowest'], rows: [row('alone', alone), row('beside heavy queries', beside)] },
    targets: [
      { what: 'p99 beside heavy queries', wanted: `under ${P99_MS} ms`, found: ms(p99), met: p99 < P99_MS },
      {
        what: 'records behind at the end',
        wanted: 'under three seconds of them',
        found: whole(lagAtEnd),
        met: lagAtEnd < Number(flags.rate) * 4,
      },
      { what: 'answers 500', wanted: 'none', found: failed ? 'some' : 'none', met: !failed },
    ],
    figures: { alone: alone.map(Math.round), beside: beside.map(Math.round), answers: Object.fromEntries(answers), lagAtEnd },
  };
}

if (flags.help) {
  process.stdout.write('npm run bench heavy -- [--turns 300000] [--rate 2000] [--queries 20] [--minutes 3] [--out dir] [--quick]\n');
} else {
  const environment = describeEnvironment();
  const report = reportOf(await withSite(measure), environment);
  if (!(await publish(report, flags.out))) process.exitCode = flags.quick ? 0 : 1;
}
