// Measures queries and pages on large tables: ten million turns with their ledger, one trajectory of 30,000 turns, and 2,000 new turns per
// second meanwhile. `npm run bench size`
import { parseArgs } from 'node:util';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { guideQuestions, paramsOf, type GuideValues } from '../e2e/guides.ts';
import { describeEnvironment } from './environment.ts';
import { fillTables, startLoad } from './filled-tables.ts';
import { probeTurn } from './latency-probe.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { median, percentile } from './statistics.ts';
import { timedAnswer } from './timed-answer.ts';
import { startTablesWorld, type TablesWorld } from './tables-world.ts';
import { untilKept } from './until-kept.ts';

const { values: flags } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000000' },
    'turn-bytes': { type: 'string', default: '800' },
    rate: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '5' },
    pages: { type: 'string', default: '300' },
    home: { type: 'string' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const [QUESTION_MS, PAGE_MS, FIRST_MS, MIDDLE_MS] = [2_000, 200, 100, 100];
const [RUN, OTHER] = ['size', 'size-other'];
const LONG = 'size-long.0';
const LONG_TURNS = 30_000;
/** Some are in many results, one in none. */
const RESULT_WORDS = ['synthetic', 'engine', 'answered', 'nowhere'];
const turns = flags.quick ? 20_000 : Number(flags.turns);
const rounds = flags.quick ? 1 : Number(flags.rounds);
const pages = flags.quick ? 20 : Number(flags.pages);

interface TimedQuery {
  readonly name: string;
  readonly ms: readonly number[];
}

interface SizeMeasurement {
  readonly turns: number;
  readonly bytes: number;
  readonly questions: readonly TimedQuery[];
  readonly pages: readonly (TimedQuery & { readonly wantedMs: number })[];
}

async function writeLong(world: TablesWorld): Promise<void> {
  const writer = await world.kafka.writer();
  for (let turn = 0; turn < LONG_TURNS; turn += 500) {
    const events = Array.from({ length: 500 }, (_, at): OutgoingEvent => {
      const event = probeTurn({ run: RUN, trajectory: LONG, turn: turn + at }, 'One of very many. '.repeat(50));
      return { type: 'TurnRecorded', key: event.group_id, event };
    });
    await writer.append(events);
  }
}

async function askQuestions(api: string, values: GuideValues): Promise<readonly TimedQuery[]> {
  const found: TimedQuery[] = [];
  for (const { title, sql } of guideQuestions) {
    const ms: number[] = [];
    const body = JSON.stringify({ query: sql, params: paramsOf(sql, values), format: 'JSONEachRow' });
    const headers = { 'content-type': 'application/json' };
    for (let round = 0; round < rounds; round += 1)
      ms.push(await timedAnswer(() => fetch(`${api}/v1/sql`, { method: 'POST', headers, body })));
    found.push({ name: title, ms });
    say(`${title} ${Math.round(median(ms))} ms`);
  }
  return found;
}

/** Different pages each time, so that no response comes from the cache. */
async function askPages(
  api: string,
  lists: { readonly trajectories: readonly string[]; readonly steps: number },
): Promise<SizeMeasurement['pages']> {
  const { trajectories, steps } = lists;
  const trajectory = (at: number): string => encodeURIComponent(trajectories[at % trajectories.length] ?? '');
  const step = (at: number): number => 1 + ((at * 7_919) % Math.max(1, steps));
  const kinds: readonly (readonly [string, number, (at: number) => string])[] = [
    ['runs', PAGE_MS, (at) => `/v1/runs?limit=${1 + (at % 50)}`],
    ['a run', PAGE_MS, (at) => `/v1/runs/${at % 2 === 0 ? RUN : OTHER}`],
    ['steps of a run', PAGE_MS, (at) => `/v1/runs/${RUN}/steps?limit=50&from_step=${step(at)}`],
    ['a step', PAGE_MS, (at) => `/v1/runs/${RUN}/steps/${step(at)}`],
    ['trajectories of a step', PAGE_MS, (at) => `/v1/runs/${RUN}/trajectories?step=${step(at)}`],
    ['selection bias', PAGE_MS, (at) => `/v1/runs/${RUN}/selection-bias?limit=${1 + (at % 50)}`],
    ['tools', PAGE_MS, () => `/v1/runs/${RUN}/tools`],
    ['tools since a step', PAGE_MS, (at) => `/v1/runs/${RUN}/tools?since_step=${step(at)}`],
    ['tool calls', PAGE_MS, (at) => `/v1/runs/${RUN}/tool-calls?limit=${1 + (at % 50)}${at % 2 === 0 ? '' : '&tool=search'}`],
    [
      'tool calls with a result',
      PAGE_MS,
      (at) => `/v1/runs/${RUN}/tool-calls?limit=50&result=${RESULT_WORDS[at % RESULT_WORDS.length] ?? ''}`,
    ],
    ['curves of 500 steps', PAGE_MS, (at) => `/v1/runs/${RUN}/curves?from_step=${step(at)}&to_step=${step(at) + 499}`],
    [
      'curves of the whole run',
      PAGE_MS,
      (at) => `/v1/runs/${RUN}/curves?series=${['reward_mean', 'turns_mean', 'searches_max'][at % 3] ?? ''}`,
    ],
    ['a trajectory', FIRST_MS, (at) => `/v1/trajectories/${trajectory(at)}?run=${RUN}`],
    ['first page of its turns', FIRST_MS, (at) => `/v1/trajectories/${trajectory(at)}/turns?run=${RUN}`],
    [
      'a page amid 30,000 turns',
      MIDDLE_MS,
      (at) => `/v1/trajectories/${LONG}/turns?run=${RUN}&min_turn=${5_000 + ((at * 97) % 20_000)}&limit=50`,
    ],
  ];
  const found: (TimedQuery & { readonly wantedMs: number })[] = [];
  for (const [name, wantedMs, path] of kinds) {
    const ms: number[] = [];
    for (let at = 0; at < pages; at += 1) ms.push(await timedAnswer(() => fetch(`${api}${path(at)}`)));
    found.push({ name, wantedMs, ms });
    say(`${name}: p99 ${Math.round(percentile(ms, 0.99))} ms`);
  }
  return found;
}

const SAMPLE =
  "select trajectory_id as id from trajectories where run_id = {run:String} and status = 'answered' order by cityHash64(trajectory_id) limit {limit:UInt32}";
const SIZE = "select sum(rows) as turns, sum(bytes_on_disk) as bytes from system.parts where table = 'turns' and active";
const STORED = 'select count() as stored from turns where run_id = {run:String}';
const STEPS = 'select count() as steps from steps where run_id = {run:String}';

async function measure(site: BenchSite): Promise<SizeMeasurement> {
  const world = await startTablesWorld(site, 'size', 4);
  const sink = await world.startWarehouse();
  await sink.until(({ state }) => state === 'live');
  const [known] = await world.store.query<{ stored: number }>(STORED, { params: { run: RUN } });
  if ((known?.stored ?? 0) < turns) {
    await writeLong(world);
    await fillTables(world, site, { runs: { [OTHER]: Math.ceil(turns / 20), [RUN]: turns }, turnBytes: flags['turn-bytes'] });
  }
  if (!flags.quick) await untilKept(world.store, site.signal);
  const api = await world.startApi({ TURNSTREAM_API_FRESH_MS: '0' });
  const { store } = world;
  const trajectories = (await store.query<{ id: string }>(SAMPLE, { params: { run: RUN, limit: pages } })).map(({ id }) => id);
  const size = (await store.query<{ turns: number; bytes: number }>(SIZE))[0] ?? { turns: 0, bytes: 0 };
  const steps = (await store.query<{ steps: number }>(STEPS, { params: { run: RUN } }))[0]?.steps ?? 1;
  say(`${whole(size.turns)} turns in ${whole(size.bytes / 1e6)} MB; ${flags.rate} turns/s come in`);
  const load = await startLoad(world, { rate: flags.rate, turnBytes: flags['turn-bytes'] });
  const question = `synthetic-${Math.floor(steps / 2)}`;
  const values: GuideValues = { run: RUN, other: OTHER, step: Math.ceil(steps / 2), trajectory: trajectories[0] ?? '', question };
  const questions = await askQuestions(api, values);
  const found = await askPages(api, { trajectories, steps });
  await load.stop();
  return { ...size, questions, pages: found };
}

function reportOf(found: SizeMeasurement, environment: BenchReport['environment']): BenchReport {
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const slowest = (one: TimedQuery): number => percentile(one.ms, 1);
  const p99 = (one: TimedQuery): number => percentile(one.ms, 0.99);
  const all = [...found.questions, ...found.pages];
  return {
    name: 'size',
    title: 'Questions and pages over ten million turns',
    method:
      `${whole(found.turns)} turns by \`turnstream load\`, stored by the sink in ${whole(found.bytes / 1e6)} MB of the embedded ClickHouse, with a ledger of steps and discards over them and one trajectory of ${whole(LONG_TURNS)} turns. ` +
      `While ${flags.rate} turns/s come in, the statements of the guide of twelve questions are asked through POST /v1/sql, ${rounds} times each, and pages over REST, ${pages} of each kind, none of which is kept from before.`,
    quick: flags.quick,
    environment,
    parameters: { turns: found.turns, 'turn bytes': flags['turn-bytes'], rate: flags.rate },
    table: {
      columns: ['asked for', 'p50', 'p99', 'slowest'],
      rows: all.map((one) => [one.name, ms(percentile(one.ms, 0.5)), ms(p99(one)), ms(slowest(one))]),
    },
    targets: [
      ...found.questions.map((one) => ({
        what: one.name,
        wanted: `under ${QUESTION_MS} ms`,
        found: ms(slowest(one)),
        met: slowest(one) < QUESTION_MS,
      })),
      ...found.pages.map((one) => ({
        what: `p99 of ${one.name}`,
        wanted: `under ${one.wantedMs} ms`,
        found: ms(p99(one)),
        met: p99(one) < one.wantedMs,
      })),
    ],
    figures: found,
  };
}

if (flags.help) {
  process.stdout.write(
    'npm run bench size -- [--turns 10000000] [--turn-bytes 800] [--rate 2000] [--rounds 5] [--pages 300] [--home dir] [--out dir] [--quick]\n' +
      'With --home, the log and the tables are kept in that directory; the next bench with it does not fill them again.\n',
  );
} else {
  const environment = describeEnvironment();
  const report = reportOf(await withSite(measure, flags.home), environment);
  if (!(await publish(report, flags.out))) process.exitCode = flags.quick ? 0 : 1;
}
