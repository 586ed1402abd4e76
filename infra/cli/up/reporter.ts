// Shows the progress of a running `up`: repaints one block in a terminal; otherwise writes one JSON object per line for each event and each
// completed step.
import type { FleetProgress } from '../../app/fleet/progress.ts';
import { terminalText } from '../../telemetry/terminal-text.ts';
import { progressFields, renderProgress } from './progress-view.ts';

export interface Reporter {
  /** Reports an event. */
  changed(kind: string, fields: Readonly<Record<string, unknown>>): void;
  /** Shows the last state; later output appears below it. */
  close(): void;
}

export interface ReporterOptions {
  readonly progress: FleetProgress;
  readonly out: (text: string) => void;
  readonly now: () => Date;
}

const REPAINT_MS = 250;

/** Repaints in place. */
export function terminalReporter(options: ReporterOptions & { readonly columns: () => number; readonly signIn?: () => string }): Reporter {
  let painted = 0;
  let closed = false;
  const paint = (): void => {
    const lines = renderProgress(options.progress.snapshot(), options.columns(), options.signIn?.());
    const up = painted === 0 ? '' : `\u001b[${painted}A`;
    options.out(`${up}\u001b[0J${lines.map((line) => `${terminalText(line)}\n`).join('')}`);
    painted = lines.length;
  };
  paint();
  const timer = setInterval(paint, REPAINT_MS);
  return {
    changed: () => undefined,
    close() {
      if (closed) return;
      closed = true;
      clearInterval(timer);
      paint();
    },
  };
}

const QUIET: ReadonlySet<string> = new Set(['status']);

/** One line per event, and one per completed step. */
export function linesReporter(options: ReporterOptions): Reporter {
  let step = -1;
  const line = (event: string, fields: Readonly<Record<string, unknown>>): void => {
    options.out(`${JSON.stringify({ time: options.now().toISOString(), event, ...fields })}\n`);
  };
  return {
    changed(kind, fields) {
      if (!QUIET.has(kind)) line(kind, fields);
      const snapshot = options.progress.snapshot();
      if (snapshot.step > step && Number.isFinite(snapshot.rewardMean)) {
        step = snapshot.step;
        line('progress', progressFields(snapshot));
      }
    },
    close: () => undefined,
  };
}
