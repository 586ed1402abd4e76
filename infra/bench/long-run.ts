// A real `turnstream up` as a child process, with the steps that it commits.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readServices } from '../app/open/services-file.ts';
import { processAlive } from '../lifecycle/process-alive.ts';
import type { BenchHome } from './home.ts';
import { servicesOf, watchSteps, type StepWatch } from './step-watch.ts';

export interface LongRun {
  readonly steps: StepWatch;
  /** Process ids by name, that of `up` included. */
  pids(): Readonly<Record<string, number>>;
  /** Resolves when `up` has ended; rejects unless it exited with 0. */
  finished(): Promise<void>;
  /** Ends it and all its processes with SIGKILL. */
  killAll(): Promise<void>;
  stop(): Promise<void>;
}

/** Resolves when its trainer runs. Its output goes to `up.log` in the home. */
export async function startLongRun(home: BenchHome, args: readonly string[]): Promise<LongRun> {
  const log = openSync(join(home.dir, 'up.log'), 'a');
  const program = join(process.cwd(), 'infra', 'cli', 'turnstream.mjs');
  const child = spawn(process.execPath, [program, 'up', ...args], { stdio: ['ignore', log, log], env: home.env });
  const ended = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => {
      resolve(code ?? signal ?? 'nothing');
    }),
  );
  const steps = await watchSteps(await servicesOf(home.dir));
  const pids = (): Readonly<Record<string, number>> => ({ up: child.pid ?? 0, ...readServices(home.dir)?.processes });
  return {
    steps,
    pids,
    async finished() {
      const how = await ended;
      await steps.close();
      if (how !== 0) throw new Error(`turnstream up ended with ${how}; see ${join(home.dir, 'up.log')}`);
    },
    async killAll() {
      const all = Object.values(pids());
      for (const pid of all) killIfAlive(pid);
      await ended;
      await steps.close();
      while (all.some(processAlive)) await sleep(50);
    },
    async stop() {
      await steps.close();
      child.kill('SIGINT');
      await ended;
    },
  };
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}
