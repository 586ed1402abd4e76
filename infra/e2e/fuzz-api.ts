// `npm run fuzz:api -- --requests 100000 [--url http://127.0.0.1:8787] [--seed 1] [--minutes 60] [--processes 2] [--out x.json]`:
// schemathesis generates valid and invalid requests from the OpenAPI document of a running API, half of the rounds with existing names,
// until the number is reached or the time is over; a seed reproduces the requests. Exits with 1 when there were too few requests, or when
// any response was a 5xx according to the API's own metrics: that includes requests that schemathesis did not consider failed. The endless
// live stream is left out. The requests write schemas to /registry: run this only against a disposable turnstream.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values: flags } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    url: { type: 'string', default: 'http://127.0.0.1:8787' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '60' },
    processes: { type: 'string', default: '2' },
    out: { type: 'string' },
  },
});

const venv = join('.turnstream', 'fuzz-venv');
const program = join(venv, 'bin', 'schemathesis');
const wanted = Number(flags.requests);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

function install(): void {
  if (existsSync(program)) return;
  say(`installing schemathesis into ${venv}`);
  const requirements = join('infra', 'e2e', 'clients', 'schemathesis', 'requirements.txt');
  for (const [file, ...args] of [
    ['python3', '-m', 'venv', venv],
    [join(venv, 'bin', 'pip'), 'install', '--quiet', '--requirement', requirements],
  ] as const) {
    const { status } = spawnSync(file, args, { stdio: 'inherit' });
    if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${String(status)}`);
  }
}

interface Counts {
  readonly requests: number;
  /** Responses with status 500 or higher, by route and status. */
  readonly failures: ReadonlyMap<string, number>;
  /** Number of requested routes. */
  readonly routes: number;
}

/** The API's response counts so far. */
async function counts(): Promise<Counts> {
  const text = await (await fetch(`${flags.url}/metrics`)).text();
  let requests = 0;
  const failures = new Map<string, number>();
  const routes = new Set<string>();
  for (const [, labels = '', value] of text.matchAll(/^turnstream_api_requests_total\{([^}]*)\} (\d+)/gm)) {
    const route = /route="([^"]*)"/.exec(labels)?.[1] ?? '';
    const status = /status="(\d+)"/.exec(labels)?.[1] ?? '';
    requests += Number(value);
    routes.add(route);
    if (Number(status) >= 500) failures.set(`${route} ${status}`, Number(value));
  }
  return { requests, failures, routes: routes.size };
}

const deadlineMs = Date.now() + Number(flags.minutes) * 60_000;
const leftSeconds = (): number => Math.floor((deadlineMs - Date.now()) / 1_000);

/** One round of schemathesis, at most until the deadline; exit code 1 means that it found a problem, which the metrics describe better. */
function round(seed: number, examples: number, config: string | undefined): Promise<void> {
  const options = {
    ...{
      checks: 'not_a_server_error',
      'exclude-path': '/v1/live',
      'max-examples': String(examples),
      seed: String(seed),
      'max-time': String(Math.max(1, leftSeconds())),
    },
    ...{ workers: '1', phases: 'coverage,fuzzing', 'request-timeout': '60', 'generation-database': 'none', warnings: 'off' },
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const known = config === undefined ? [] : ['--config-file', config];
  const child = spawn(
    program,
    [...known, 'run', `${flags.url}/openapi.json`, ...args, '--no-shrink', '--continue-on-failure', '--no-color'],
    {
      stdio: 'inherit',
    },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0 || code === 1) resolve();
      else reject(new Error(`schemathesis ended with ${String(code)}`));
    });
  });
}

/** Existing names, because made-up ones mostly end in a 404. */
async function knownNames(folder: string): Promise<string | undefined> {
  const first = async (path: string): Promise<Record<string, string>> => {
    const answer = (await (await fetch(`${flags.url}${path}`)).json()) as { readonly items?: readonly Record<string, string>[] };
    return answer.items?.[0] ?? {};
  };
  const { run_id: run } = await first('/v1/runs?limit=1');
  if (run === undefined) return undefined;
  const { trajectory_id, group_id } = await first(`/v1/runs/${run}/trajectories?limit=1`);
  const names = { run, trajectory: trajectory_id ?? '', group: group_id ?? '', step: 1 };
  const file = join(folder, 'schemathesis.toml');
  const lines = Object.entries(names).map(([name, value]) => `"path.${name}" = ${JSON.stringify(value)}`);
  writeFileSync(file, `[parameters]\n${lines.join('\n')}\n`);
  return file;
}

interface Rounds {
  readonly step: number;
  readonly made: () => Promise<number>;
  readonly config: string | undefined;
}

/** Rounds of one process, each with its own seed, until there are enough requests or the time is over. */
async function rounds(first: number, { step, made, config }: Rounds): Promise<void> {
  let requests = await made();
  let turn = first % 2 === 1;
  for (let seed = first; requests < wanted && leftSeconds() > 0; seed += step) {
    await round(seed, Math.max(5, Math.min(300, Math.ceil((wanted - requests) / (60 * step)))), turn ? config : undefined);
    turn = !turn;
    requests = await made();
    say(`${requests} of ${wanted} requests`);
  }
}

install();
const before = await counts();
const began = Date.now();
const processes = Number(flags.processes);
const folder = mkdtempSync(join(tmpdir(), 'turnstream-fuzz-'));
const config = await knownNames(folder);
const made = async (): Promise<number> => (await counts()).requests - before.requests;
await Promise.all(Array.from({ length: processes }, (_, index) => rounds(Number(flags.seed) + index, { step: processes, made, config })));
rmSync(folder, { recursive: true });
const now = await counts();
const requests = now.requests - before.requests;
const failed = [...now.failures]
  .map(([what, count]) => [what, count - (before.failures.get(what) ?? 0)] as const)
  .filter(([, count]) => count > 0);
for (const [what, count] of failed) say(`FAILED ${what}: ${count} times; the log of the API has each under its request id`);
const bad = failed.reduce((sum, [, count]) => sum + count, 0);
const seconds = Math.round((Date.now() - began) / 1_000);
say(`${requests} requests in ${seconds} s, ${bad} responses with status 500 or above${requests < wanted ? `; ${wanted} were wanted` : ''}`);
if (flags.out !== undefined) {
  const result = { at: new Date().toISOString(), seed: Number(flags.seed), requests, seconds, serverErrors: bad, routes: now.routes };
  writeFileSync(flags.out, `${JSON.stringify(result, null, 2)}\n`);
}
process.exitCode = bad === 0 && requests >= wanted ? 0 : 1;
