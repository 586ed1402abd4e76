// A MODEL of an inference engine under load: concurrent generations slow each other down, and a single one runs at full speed. All share
// the engine equally: alone, a generation takes its given time; with `load` others twice as long, with twice as many three times as long.
// The speed adapts at once when a generation begins, ends or is abandoned.
import type { Wait } from './latency-model.ts';

interface SimulatedGeneration {
  /** Value of `worked` at which the generation is done. */
  readonly due: number;
  readonly done: () => void;
}

/** Waits as long as a generation takes that would take `ms` alone. */
export function createEngine(load: number): Wait {
  const running = new Set<SimulatedGeneration>();
  /** Work that a generation would have received since the engine was created, ms. */
  let worked = 0;
  let at = performance.now();
  let timer: NodeJS.Timeout | undefined;

  const slowness = (): number => 1 + Math.max(0, running.size - 1) / load;

  /** Call before anything changes. */
  function account(): void {
    const now = performance.now();
    worked += (now - at) / slowness();
    at = now;
  }

  function plan(): void {
    clearTimeout(timer);
    if (running.size === 0) return;
    const next = Math.min(...[...running].map(({ due }) => due));
    timer = setTimeout(finish, Math.max(0, (next - worked) * slowness()));
  }

  function finish(): void {
    account();
    // a timer may fire slightly early
    for (const generation of [...running]) if (generation.due - worked < 0.5) end(generation);
    plan();
  }

  function end(generation: SimulatedGeneration): void {
    running.delete(generation);
    generation.done();
  }

  return (ms, signal) =>
    new Promise((resolve) => {
      account();
      const giveUp = (): void => {
        account();
        end(generation);
        plan();
      };
      const generation: SimulatedGeneration = {
        due: worked + ms,
        done() {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      running.add(generation);
      signal.addEventListener('abort', giveUp, { once: true });
      if (signal.aborted) giveUp();
      else plan();
    });
}
