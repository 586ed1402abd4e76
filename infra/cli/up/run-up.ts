// The terminal side of `turnstream up` and `turnstream serve`: what they show, how they handle Ctrl-C, and what they print at the end.
import { mkdirSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { exitCodes } from '../../app/exit-codes.ts';
import { createProgress } from '../../app/fleet/progress.ts';
import { runSummary, type RunSummary } from '../status/run-summary.ts';
import type { TrainingRun } from '../../app/fleet/training.ts';
import { up } from './up.ts';
import type { Config } from '../../config/descriptors.ts';
import { isSet } from '../../config/load.ts';
import { listenForInterrupts } from '../../lifecycle/interrupts.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { asTyped } from '../as-typed.ts';
import type { CommandContext } from '../context.ts';
import { keepDashboardToken, withDashboardToken } from '../../app/open/dashboard-token.ts';
import { createDashboardLink } from './dashboard-link.ts';
import { openBrowser } from './open-browser.ts';
import { resumeCommand } from './resume-command.ts';
import { linesReporter, terminalReporter, type Reporter, type ReporterOptions } from './reporter.ts';
import { renderSummary } from '../status/summary-view.ts';

export interface RunUpOptions {
  readonly config: Config;
  /** Undefined: opens the existing data and trains nothing. */
  readonly training: TrainingRun | undefined;
}

/** Runs `up` or `serve` and returns the exit code. */
export async function runUp(context: CommandContext, { config: asked, training }: RunUpOptions): Promise<number> {
  const config = withDashboardToken(asked);
  const [run, steps] = [training?.run ?? '', training?.steps ?? 0];
  const resume: Resume = (more) => (training === undefined ? '' : resumeCommand({ config: asked, training, env: context.env }, more));
  const progress = createProgress({ run, steps, nowMs: () => performance.now(), dateMs: Date.now });
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
  let code: number = exitCodes.ok;
  const view = { progress, out: context.out, now: () => new Date() };
  let reporter: Reporter | undefined;
  const close = (): void => reporter?.close();
  const handle = up(
    {
      ...{ config, training, logger, progress },
      apiPortFixed: isSet(context.env, 'apiPort'),
      program: context.program,
      logOf: logs,
      onStarting: () => {
        keepDashboardToken(asked, config);
        reporter = reporterOf(context, config, { ...view, terminal });
      },
      onChange: (kind, fields) => {
        reporter?.changed(kind, fields);
      },
      onFinished: async (fleet) => {
        const { clickhouseUrl } = fleet.addresses();
        const found = await runSummary({ ...config, clickhouseUrl }, run);
        if (!isAsPlanned(found)) code = exitCodes.failed;
        summary.push(
          terminal
            ? renderSummary(found) + asTyped(whatNext(found, resume), context.env)
            : `${JSON.stringify({ time: new Date().toISOString(), event: 'summary', ...found })}\n`,
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
    close();
    context.out(end === 'finished' ? summary.join('') : asTyped(stoppedNote(terminal, run, resume), context.env));
    return end === 'stopped' && steps > 0 ? exitCodes.interrupted : code;
  } finally {
    close();
    interrupts.close();
  }
}

/** Reports every event, and prints or opens the link to the dashboard. */
function reporterOf(context: CommandContext, config: Config, view: ReporterOptions & { readonly terminal: boolean }): Reporter {
  const { terminal } = view;
  const link = createDashboardLink({
    token: config.dashboardToken,
    open: (to) => {
      openBrowser(to, { env: context.env, platform: process.platform, terminal, wanted: config.openBrowser });
    },
    tell: (url) => {
      reporter.changed('sign_in', { url });
    },
  });
  const columns = (): number => process.stdout.columns || 100;
  const paint = (text: string): void => void process.stdout.write(text);
  const reporter = terminal ? terminalReporter({ ...view, out: paint, columns, signIn: link.text }) : linesReporter(view);
  return {
    close: () => {
      reporter.close();
    },
    changed(kind, fields) {
      reporter.changed(kind, fields);
      link.changed(kind, fields);
    },
  };
}

/** A name that sorts by time: run-20261121-093000. */
export const newRunId = (now: Date): string => `run-${now.toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}`;

/** False for a run that ended because continuing was pointless. */
const isAsPlanned = ({ reason }: RunSummary): boolean => reason === 'steps_reached' || reason === 'collected';

/** Returns the command that continues the run, up to `steps` if given. */
type Resume = (steps?: number) => string;

function whatNext({ steps, collected }: RunSummary, resume: Resume): string {
  const [more, does] = collected === null ? [2 * steps, 'trains it further'] : [2 * collected.batches, 'collects more'];
  return `\n\`turnstream serve\` opens it again; \`${resume(more)}\` ${does}\n`;
}

function stoppedNote(terminal: boolean, run: string, resume: Resume): string {
  if (!terminal) return `${JSON.stringify({ time: new Date().toISOString(), event: 'stopped', ...(run === '' ? {} : { run }) })}\n`;
  return run === '' ? 'stopped\n' : `stopped; \`${resume()}\` continues it\n`;
}

/** In a terminal, the logs of the children go to files; otherwise to standard error with the supervisor's own. */
function childLogs(dataDir: string, terminal: boolean): (child: string) => number {
  if (!terminal) return () => 2;
  const dir = join(dataDir, 'logs');
  return (child) => {
    try {
      mkdirSync(dir, { recursive: true });
      return openSync(join(dir, `${child}.log`), 'a');
    } catch {
      // on a full disk, a role without a log is better than no role
      return openSync(devNull, 'a');
    }
  };
}
