// `turnstream up` as seen from a terminal: what it shows, how it reacts to Ctrl-C, what it prints at the end.
import { mkdirSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { exitCodes } from '../app/exit-codes.ts';
import { createProgress } from '../app/progress.ts';
import { runSummary } from '../app/run-summary.ts';
import { up } from '../app/up.ts';
import type { Config } from '../config/descriptors.ts';
import { listenForInterrupts } from '../lifecycle/interrupts.ts';
import { createLogger } from '../telemetry/logger.ts';
import type { CommandContext } from './context.ts';
import { linesReporter, terminalReporter } from './reporter.ts';
import { renderSummary } from './summary-view.ts';

export interface RunUpOptions {
  readonly config: Config;
  readonly run?: string;
  readonly seed: number;
  readonly steps: number;
  readonly workers: number;
  readonly evaluate: boolean;
}

/** Runs it and answers the exit code. */
export async function runUp(context: CommandContext, options: RunUpOptions): Promise<number> {
  const { config, steps } = options;
  const run = options.run ?? newRunId(new Date());
  const progress = createProgress({ run, steps });
  const terminal = process.stdout.isTTY;
  const logs = childLogs(config.dataDir, terminal);
  const logger = createLogger({ level: terminal ? 'error' : config.logLevel, role: 'up' });
  let killAll = (): void => undefined;
  const interrupts = listenForInterrupts({
    now: Date.now,
    onSecond: () => {
      killAll();
      process.exit(exitCodes.interrupted);
    },
  });
  const summary: string[] = [];
  const view = { progress, out: context.out, now: () => new Date() };
  const reporter = terminal ? terminalReporter({ ...view, columns: () => process.stdout.columns || 100 }) : linesReporter(view);
  const handle = up(
    {
      ...{ config, run, steps, logger, progress },
      seed: options.seed,
      workers: options.workers,
      evaluate: options.evaluate,
      program: context.program,
      logOf: logs,
      onChange: (kind, fields) => {
        reporter.changed(kind, fields);
      },
      onFinished: async (fleet) => {
        const { clickhouseUrl } = fleet.addresses();
        const found = await runSummary({ ...config, clickhouseUrl }, run);
        summary.push(
          terminal ? renderSummary(found) : `${JSON.stringify({ time: new Date().toISOString(), event: 'summary', ...found })}\n`,
        );
      },
    },
    interrupts.signal,
  );
  killAll = () => {
    handle.killAll();
  };
  try {
    const end = await handle.ended;
    reporter.close();
    context.out(end === 'finished' ? summary.join('') : stoppedNote(terminal, run));
    return end === 'stopped' && steps > 0 ? exitCodes.interrupted : exitCodes.ok;
  } finally {
    reporter.close();
    interrupts.close();
  }
}

/** A name that sorts by time: run-20261121-093000. */
export const newRunId = (now: Date): string => `run-${now.toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}`;

const stoppedNote = (terminal: boolean, run: string): string =>
  terminal
    ? `stopped; \`turnstream up --run ${run}\` goes on with it\n`
    : `${JSON.stringify({ time: new Date().toISOString(), event: 'stopped', run })}\n`;

/** In a terminal the logs of the children go to files; elsewhere to standard error with ours. */
function childLogs(dataDir: string, terminal: boolean): (child: string) => number {
  if (!terminal) return () => 2;
  const dir = join(dataDir, 'logs');
  return (child) => {
    try {
      mkdirSync(dir, { recursive: true });
      return openSync(join(dir, `${child}.log`), 'a');
    } catch {
      // a full disk: a role without a log is better than none
      return openSync(devNull, 'a');
    }
  };
}
