// A MODEL of an inference engine under load: generations that run at once slow each other down, and one that is left alone is
// as fast as it can be. All of them share the engine alike: alone a generation takes the time that it is given, with `load` others twice as long,
// with twice as many three times. The speed follows at once when a generation begins, ends or is given up.
import type { Wait } from './latency-model.ts';

interface Generation {
  /** Work of the engine at which it is done. */
  readonly due: number;
  readonly done: () => void;
}

/** Waits as long as a generation takes that takes so many ms alone. */
export function createEngine(load: number): Wait {
  const running = new Set<Generation>();
  /** Ms of work that each generation has been given since the engine began. */
  let worked = 0;
  let at = performance.now();
  let timer: NodeJS.Timeout | undefined;

  const slowness = (): number => 1 + Math.max(0, running.size - 1) / load;

  /** To be called before anything changes. */
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
    // a timer may be a little early
    for (const generation of [...running]) if (generation.due - worked < 0.5) end(generation);
    plan();
  }

  function end(generation: Generation): void {
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
      const generation: Generation = {
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
