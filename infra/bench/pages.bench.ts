// Measures the response time of every page: all GET routes of the OpenAPI document and variants of their parameters, with values of a run,
// on the API of a real `turnstream serve` or `up`. A route that the run has no values for is an error. Start the API with
// TURNSTREAM_API_FRESH_MS=0, so that no response comes from the cache, then run
// `npm run bench pages -- --url http://127.0.0.1:8787 --run <run>`.
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
import { pageRequestsOf, type OpenApiDocument, type PageRequests, type ParameterValues } from './page-requests.ts';
import { publish } from './report.ts';
import { median, percentile } from './statistics.ts';
import { timedAnswer } from './timed-answer.ts';

const { values: flags } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8787' },
    run: { type: 'string' },
    times: { type: 'string', default: '200' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const WANTED_MS = 200;
/** Time limit for one slow page. */
const PAGE_BUDGET_MS = 30_000;

interface Items {
  readonly items: readonly Readonly<Record<string, unknown>>[];
}

interface TimedPath {
  readonly path: string;
  readonly ms: readonly number[];
}

async function read<T>(path: string): Promise<T> {
  const answer = await fetch(`${flags.url}${path}`);
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
  return (await answer.json()) as T;
}

async function valuesOf(run: string): Promise<ParameterValues> {
  const list = async (path: string, column: string): Promise<readonly string[]> =>
    (await read<Items>(path)).items.map((item) => String(item[column]));
  const of = `/v1/runs/${encodeURIComponent(run)}`;
  const others = (await list('/v1/runs?limit=50', 'run_id')).filter((other) => other !== run);
  const evaluations = await list('/v1/evaluations?limit=50', 'evaluation_id');
  const words = (await list(`${of}/tool-calls?limit=200`, 'arguments')).flatMap((text) => text.match(/[A-Za-z]{4,}/g) ?? []);
  return new Map([
    ['run', [run]],
    ['step', await list(`${of}/steps?limit=1000`, 'step')],
    ['trajectory', await list(`${of}/trajectories?limit=100`, 'trajectory_id')],
    ['group', await list(`${of}/trajectories?limit=100`, 'group_id')],
    ['question', await list(`${of}/questions?limit=100`, 'question_id')],
    ['tool', await list(`${of}/tools`, 'tool')],
    ['with', others.length === 0 ? [run] : others],
    ['evaluation', evaluations],
    ['other evaluation', [...evaluations.slice(1), ...evaluations.slice(0, 1)]],
    ['q', words],
  ]);
}

async function timePage({ name, at: pathOf }: PageRequests): Promise<TimedPath> {
  const ms: number[] = [];
  let spent = 0;
  for (let at = 0; at < (flags.quick ? 3 : Number(flags.times)) && spent < PAGE_BUDGET_MS; at += 1) {
    const took = await timedAnswer(() => fetch(`${flags.url}${pathOf(at)}`));
    ms.push(Math.round(10 * took) / 10);
    spent += took;
  }
  say(`${name}: p99 ${Math.round(percentile(ms, 0.99))} ms`);
  return { path: name, ms };
}

const shown = (ms: number): string => `${Math.round(ms)} ms`;

async function main(run: string): Promise<void> {
  const environment = describeEnvironment();
  const requests = pageRequestsOf(await read<OpenApiDocument>('/openapi.json'), await valuesOf(run));
  const { steps } = await read<{ readonly steps: number }>(`/v1/runs/${encodeURIComponent(run)}`);
  const found: TimedPath[] = [];
  for (const request of requests) found.push(await timePage(request));
  const met = await publish(
    {
      name: 'pages',
      title: 'Pages of a run',
      method: `Every route that reads, and variants of its parameters, up to ${flags.times} requests each, one after the other, at a run of ${steps} steps.`,
      quick: flags.quick,
      environment,
      parameters: { steps, times: flags.times },
      table: {
        columns: ['page', 'requests', 'p50', 'p99', 'slowest'],
        rows: found.map(({ path, ms }) => [
          path,
          String(ms.length),
          shown(median(ms)),
          shown(percentile(ms, 0.99)),
          shown(Math.max(...ms)),
        ]),
      },
      targets: found.map(({ path, ms }) => ({
        what: `p99 of ${path}`,
        wanted: `under ${WANTED_MS} ms`,
        found: shown(percentile(ms, 0.99)),
        met: percentile(ms, 0.99) < WANTED_MS,
      })),
      figures: found,
    },
    flags.out,
  );
  if (!met) process.exitCode = 1;
}

if (flags.help || flags.run === undefined) {
  process.stdout.write('npm run bench pages -- --run RUN [--url http://127.0.0.1:8787 --times 200 --quick --out DIR]\n');
  if (!flags.help) process.exitCode = 2;
} else await main(flags.run);
