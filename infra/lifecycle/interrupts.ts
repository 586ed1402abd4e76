// Signals for a graceful stop: the first one requests it, the second one forces it. npm forwards Ctrl-C to a program that has already
// received it from the terminal, so a second signal within REPEAT_MS counts as the first.

export interface Interrupts {
  /** Aborts on the first signal. */
  readonly signal: AbortSignal;
  /** The first signal, once there is one. */
  received(): NodeJS.Signals | undefined;
  close(): void;
}

const REPEAT_MS = 400;

/** Listens for SIGINT, SIGTERM and SIGHUP of `source`, by default the process. `onSecond` runs on every later signal. */
export function listenForInterrupts(options: {
  readonly onSecond: (signal: NodeJS.Signals) => void;
  readonly now: () => number;
  readonly source?: NodeJS.EventEmitter;
}): Interrupts {
  const source = options.source ?? process;
  const controller = new AbortController();
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const at = options.now();
    if (first === undefined) {
      first = { signal, at };
      controller.abort(signal);
    } else if (at - first.at >= REPEAT_MS) {
      options.onSecond(signal);
    }
  };
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) source.on(name, onSignal);
  return {
    signal: controller.signal,
    received: () => first?.signal,
    close() {
      for (const name of names) source.off(name, onSignal);
    },
  };
}
