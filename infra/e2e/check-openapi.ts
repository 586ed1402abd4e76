// `npm run check:openapi [-- --schemathesis]`: starts an API with a small run, lints its OpenAPI document with redocly and spectral,
// generates clients with openapi-typescript and openapi-python-client, compiles them strictly and iterates every list to its end. With
// --schemathesis it also runs that tool with all checks. The tools are installed below .turnstream on first use. Exits with 1 when a tool
// reports a problem.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { connectStore } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { storeLog, storyRun, tellStory } from '../testing/api-story.ts';
import { testApi } from '../testing/api.ts';
import { outgoing, randomEvent, seeded } from '../testing/events.ts';
import { stopFollowing } from '../testing/follow-events.ts';
import { MemoryLog } from '../testing/memory-log.ts';
import { rewarded } from '../testing/rollout-events.ts';
import { serveRun } from '../testing/served-run.ts';
import { startTestStore } from '../testing/store.ts';
import { newRig, scriptedWorker, settings } from '../testing/trainer-rig.ts';

const { values: flags } = parseArgs({
  options: { schemathesis: { type: 'boolean', default: false }, examples: { type: 'string', default: '20' } },
});
const source = join('infra', 'e2e', 'clients', 'openapi');
const home = resolve('.turnstream', 'openapi');
const venv = join(home, 'venv', 'bin');
const bin = (name: string): string => join(home, 'node_modules', '.bin', name);
const trajectory = `${storyRun}-g1-0.0`;
const names = [storyRun, trajectory, 'eval-1', 'Austria'];
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const failed: string[] = [];

/** In a child process, because the API runs in this one. */
async function attempt(what: string, [file = '', ...args]: readonly string[]): Promise<void> {
  say(`== ${what}`);
  const code = await new Promise<number | null>((done) => {
    spawn(file, args, { cwd: home, stdio: 'inherit' })
      .once('error', () => {
        done(1);
      })
      .once('close', done);
  });
  if (code !== 0) failed.push(what);
}

function install(): void {
  mkdirSync(home, { recursive: true });
  cpSync(source, home, { recursive: true });
  cpSync(join(source, '..', 'schemathesis'), join(home, '..', 'schemathesis'), { recursive: true });
  const steps = [
    ...(existsSync(bin('redocly')) ? [] : [['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--silent']]),
    ...(existsSync(join(venv, 'mypy'))
      ? []
      : [
          ['python3', '-m', 'venv', 'venv'],
          [join(venv, 'pip'), 'install', '--quiet', '--disable-pip-version-check', '--requirement', 'requirements.txt'],
        ]),
  ];
  for (const [file = '', ...args] of steps) {
    const { status } = spawnSync(file, args, { cwd: home, stdio: 'inherit' });
    if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${String(status)}`);
  }
}

async function tryAll(url: string): Promise<void> {
  await attempt('redocly', [bin('redocly'), 'lint', 'openapi.json', '--extends', 'recommended', '--format', 'stylish']);
  await attempt('spectral', [bin('spectral'), 'lint', 'openapi.json', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint']);
  await attempt('openapi-typescript', [bin('openapi-typescript'), 'openapi.json', '--output', 'schema.d.ts']);
  await attempt('tsc', [bin('tsc'), '--project', '.']);
  await attempt('the TypeScript client', [process.execPath, join('made', 'walk.mjs'), url, ...names]);
  const generate = ['generate', '--path', 'openapi.json', '--output-path', 'turnstream_client', '--meta', 'none', '--overwrite'];
  await attempt('openapi-python-client', [join(venv, 'openapi-python-client'), ...generate]);
  await attempt('mypy', [join(venv, 'mypy'), '--strict', 'turnstream_client']);
  await attempt('the Python client', [join(venv, 'python'), 'walk.py', url, ...names]);
  if (!flags.schemathesis) return;
  const asked = [
    '--checks',
    'all',
    '--max-examples',
    flags.examples,
    '--seed',
    '1',
    '--continue-on-failure',
    '--generation-database',
    'none',
  ];
  await attempt('schemathesis', [join(venv, 'schemathesis'), '--config-file', 'schemathesis.toml', 'run', `${url}/openapi.json`, ...asked]);
}

install();
const engine = await startTestStore();
const store = connectStore({ url: engine.url, database: 'turnstream' });
await migrate(store);
const log = new MemoryLog();
await tellStory(log, store);
// events that only this check needs: without them, their lists would be empty
const more = new MemoryLog();
const random = seeded(1);
for (const sequence of [300, 301, 302])
  await more.writer().append([outgoing('GroupsAdmitted', randomEvent('GroupsAdmitted', random, { run_id: storyRun, sequence }))]);
for (const name of ['human', 'judge', 'unit-tests'])
  await more.writer().append([outgoing('RewardAttached', rewarded({ trajectory }, 0.5, { run_id: storyRun, name }))]);
await storeLog(more, store, 'more');
// a run that an external trainer may claim, with the same id as the run in the tables
const rig = newRig();
const { coordinator, stop } = serveRun(rig, {}, { settings: { ...settings, steps: 1_000 } });
await scriptedWorker(rig);
const server = await testApi({ store, log, coordinatorOf: async () => coordinator });
try {
  const { url } = await server.listen();
  writeFileSync(join(home, 'openapi.json'), (await server.app.inject('/openapi.json')).body);
  await tryAll(url);
} finally {
  await server.close();
  await stop();
  await stopFollowing();
  await store.close();
  await engine.stop();
}
say(failed.length === 0 ? 'all of them passed' : `FAILED: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
