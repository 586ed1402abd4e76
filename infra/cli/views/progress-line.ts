// One progress line on standard error: repainted in a terminal, otherwise printed at intervals as a line of its own.
import { terminalText } from '../../telemetry/terminal-text.ts';

export interface ProgressLine {
  /** Shows the text, unless another one was shown a moment ago. */
  show(text: string): void;
  /** Ends the line, so that later output starts on a new one. Safe to repeat. */
  end(): void;
}

export interface ProgressTarget {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const TERMINAL_MS = 250;
const ELSEWHERE_MS = 5_000;
const COLUMNS = 120;

export function createProgressLine(target: ProgressTarget, now: () => number = () => performance.now()): ProgressLine {
  const terminal = target.isTTY === true;
  const everyMs = terminal ? TERMINAL_MS : ELSEWHERE_MS;
  let shownMs = terminal ? -Infinity : now();
  let open = false;
  return {
    show(text) {
      if (now() - shownMs < everyMs) return;
      shownMs = now();
      open = terminal;
      target.write(terminal ? `\r\u001b[K${terminalText(text.slice(0, (target.columns ?? COLUMNS) - 1))}` : `${text}\n`);
    },
    end() {
      if (open) target.write('\r\u001b[K');
      open = false;
    },
  };
}
