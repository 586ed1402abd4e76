// Runs the external trainer of a torture test, and starts it again whenever it has ended.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';

export interface TrainerProcess {
  /** Undefined while it restarts. */
  pid(): number | undefined;
  stop(): Promise<void>;
}

interface TrainerSetup {
  readonly run: string;
  /** The folder of the logs. */
  readonly dir: string;
  readonly upDir: string;
  /** Addresses of the brokers, without the proxies. */
  readonly brokers: () => readonly string[];
}

const RESTART_MS = 500;
const program = join(import.meta.dirname, 'external-trainer.process.ts');

export function keepTrainer({ run, dir, upDir, brokers }: TrainerSetup): TrainerProcess {
  const own = join(dir, 'external-trainer');
  mkdirSync(own, { recursive: true });
  let isClosing = false;
  const start = (): ChildProcess => {
    const out = openSync(join(dir, 'external-trainer.log'), 'a');
    const args = ['--import', 'tsx', program, '--run', run, '--up', upDir, '--dir', own, '--brokers', brokers().join()];
    const child = spawn(process.execPath, args, { stdio: ['ignore', out, out] });
    child.once('exit', () => {
      if (!isClosing) setTimeout(() => (current = isClosing ? current : start()), RESTART_MS);
    });
    return child;
  };
  let current = start();
  const isRunning = (): boolean => current.exitCode === null && current.signalCode === null;
  return {
    pid: () => (isRunning() ? current.pid : undefined),
    async stop() {
      isClosing = true;
      if (!isRunning()) return;
      const ended = new Promise((resolve) => current.once('exit', resolve));
      // no other signal ends a frozen process
      current.kill('SIGKILL');
      await ended;
    },
  };
}
