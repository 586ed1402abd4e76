// Measures the response time of every page of a run: all routes of the OpenAPI document that read one run, each with values of that run, on
// the API of a real `turnstream serve` or `up`. Start it with TURNSTREAM_API_FRESH_MS=0, so that no response comes from the cache, then run
// `npm run bench pages -- --url http://127.0.0.1:8787 --run <run>`.
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
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
/** Endless streams. */
const STREAMS = /^\/v1\/live/;

interface OpenApiParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
}
interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get?: { readonly parameters?: readonly OpenApiParameter[] } }>>;
}
interface Items {
  readonly items: readonly Readonly<Record<string, unknown>>[];
}
/** Values of the run for a parameter, by its name in the document. */
type ParameterValues = ReadonlyMap<string, readonly string[]>;

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
  return new Map([
    ['run', [run]],
    ['step', await list(`${of}/steps?limit=1000`, 'step')],
    ['trajectory', await list(`${of}/trajectories?limit=100`, 'trajectory_id')],
    ['group', await list(`${of}/trajectories?limit=100`, 'group_id')],
    ['with', others.length === 0 ? [run] : others],
  ]);
}

/** The path with values of the run, different ones each time; undefined when a required parameter has no values. */
function pageAt(
  path: string,
  given: { readonly required: readonly OpenApiParameter[]; readonly values: ParameterValues },
  at: number,
): string | undefined {
  const value = (name: string): string | undefined => {
    const all = given.values.get(name) ?? [];
    return all[(at * 7_919) % Math.max(1, all.length)];
  };
  const query = new URLSearchParams();
  let filled = path;
  for (const parameter of given.required) {
    const found = value(parameter.name);
    if (found === undefined) return undefined;
    if (parameter.in === 'path') filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(found));
    else query.set(parameter.name, found);
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}

async function timePages(path: string, parameters: readonly OpenApiParameter[], values: ParameterValues): Promise<TimedPath | undefined> {
  const required = parameters.filter((parameter) => parameter.in === 'path' || parameter.required === true);
  const ofTrajectory = path.startsWith('/v1/trajectories');
  const ms: number[] = [];
  let spent = 0;
  for (let at = 0; at < (flags.quick ? 3 : Number(flags.times)) && spent < PAGE_BUDGET_MS; at += 1) {
    const page = pageAt(path, { required, values }, at);
    if (page === undefined) return undefined;
    const asked = ofTrajectory ? `${page}${page.includes('?') ? '&' : '?'}run=${flags.run ?? ''}` : page;
    const took = await timedAnswer(() => fetch(`${flags.url}${asked}`));
    ms.push(took);
    spent += took;
  }
  say(`${path}: p99 ${Math.round(percentile(ms, 0.99))} ms`);
  return { path, ms };
}

const shown = (ms: number): string => `${Math.round(ms)} ms`;

async function main(run: string): Promise<void> {
  const environment = describeEnvironment();
  const { paths } = await read<OpenApiDocument>('/openapi.json');
  const values = await valuesOf(run);
  const { steps } = await read<{ readonly steps: number }>(`/v1/runs/${encodeURIComponent(run)}`);
  const found: TimedPath[] = [];
  for (const [path, { get }] of Object.entries(paths)) {
    if (get === undefined || STREAMS.test(path) || !/^\/v1\/(?:runs|trajectories)/.test(path)) continue;
    const page = await timePages(path, get.parameters ?? [], values);
    if (page !== undefined) found.push(page);
  }
  const met = await publish(
    {
      name: 'pages',
      title: 'Pages of a run',
      method: `Every route that reads one run, asked for up to ${flags.times} times, one request after the other, at a run of ${steps} steps.`,
      quick: flags.quick,
      environment,
      parameters: { steps, times: flags.times },
      table: {
        columns: ['page', 'asked', 'p50', 'p99', 'slowest'],
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
