// Measures how long a run makes no steps after its trainer is killed: a real `turnstream up` with default settings; the trainer is killed
// with SIGKILL repeatedly, and the next committed step is read from the log. `npm run bench recovery`
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readServices } from '../app/open/services-file.ts';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
import { publish } from './report.ts';
import { median } from './statistics.ts';
import { servicesOf, watchSteps, type StepWatch } from './step-watch.ts';

const { values: flags } = parseArgs({
  options: {
    kills: { type: 'string', default: '10' },
    'steps-between': { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const MS_OF_TARGET = 8_000;
const RUN = 'recovery';

if (flags.help) {
  process.stdout.write('npm run bench recovery [-- --kills 10 --steps-between 6 --seed 1 --quick --out DIR]\n');
} else {
  process.exitCode = (await bench()) ? 0 : 1;
}

async function bench(): Promise<boolean> {
  const kills = flags.quick ? 2 : Number(flags.kills);
  const dir = await mkdtemp(join(tmpdir(), 'turnstream-recovery-'));
  const child = startUp(dir);
  const ended = new Promise<unknown>((resolve) => child.once('exit', resolve));
  try {
    const services = await servicesOf(dir);
    const steps = await watchSteps(services);
    try {
      const outages: number[] = [];
      for (let kill = 0; kill < kills; kill += 1) {
        await steps.until(steps.count() + Number(flags['steps-between']));
        outages.push(await killTrainer(dir, steps));
        say(`kill ${kill + 1} of ${kills}: next step after ${outages.at(-1) ?? NaN} ms`);
      }
      return await report(outages);
    } finally {
      await steps.close();
    }
  } finally {
    child.kill('SIGINT');
    await ended;
    await rm(dir, { recursive: true, force: true });
  }
}

function startUp(dir: string): ChildProcess {
  const log = openSync(join(dir, 'up.log'), 'a');
  const program = join(process.cwd(), 'infra', 'cli', 'turnstream.mjs');
  return spawn(process.execPath, [program, 'up', '--run', RUN, '--seed', flags.seed, '--no-eval'], {
    stdio: ['ignore', log, log],
    env: { ...process.env, TURNSTREAM_DATA_DIR: dir, TURNSTREAM_API_PORT: '0' },
  });
}

/** Kills it and returns the time to the next committed step, ms. */
async function killTrainer(dir: string, steps: StepWatch): Promise<number> {
  const pid = readServices(dir)?.processes['trainer'];
  if (pid === undefined) throw new Error('killing the trainer: none is running');
  const [before, killedMs] = [steps.count(), Date.now()];
  process.kill(pid, 'SIGKILL');
  await steps.until(before + 1);
  // a step that was in flight during the kill is not from the next trainer
  if (steps.newestMs() <= killedMs) await steps.until(before + 2);
  return steps.newestMs() - killedMs;
}

async function report(outages: readonly number[]): Promise<boolean> {
  const worst = Math.max(...outages);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  return publish(
    {
      name: 'recovery',
      title: 'From the kill of a trainer to the next committed step',
      method:
        'A real `turnstream up` at its default settings (local broker, embedded store, worker, warehouse, API). The trainer is killed with SIGKILL every few steps. The result is the time from the kill to the timestamp of the next StepCompleted record.',
      quick: flags.quick,
      environment: describeEnvironment(),
      parameters: { kills: outages.length, 'steps between': flags['steps-between'], seed: flags.seed },
      table: {
        columns: ['kills', 'median', 'worst'],
        rows: [[String(outages.length), seconds(median(outages)), seconds(worst)]],
      },
      targets: [{ what: 'kill to next step, worst', wanted: '< 8 s', found: seconds(worst), met: worst < MS_OF_TARGET }],
      figures: { outagesMs: outages },
    },
    flags.out,
  );
}
