// Rows are measured ahead on the thread that sends rows, and somebody waits for those that are sent: measuring gives way to them. It does so for a
// limited time, so that a slow reader does not hold up the next lease.
import { setTimeout as after } from 'node:timers/promises';

const MOMENT_MS = 3;
const MOST_MOMENTS = 80;

export interface ServingFirst {
  /** The same items; as long as they are taken quickly, others give way. */
  track<T>(items: AsyncIterable<T>): AsyncGenerator<T, void, undefined>;
  /** For one piece of work: resolves each time when nothing was taken for a moment, or at once when it has waited long enough in all. */
  newTurns(): () => Promise<void>;
}

export function createServingFirst(moment: () => Promise<unknown> = () => after(MOMENT_MS)): ServingFirst {
  let [serving, taken] = [0, 0];
  return {
    async *track(items) {
      serving += 1;
      try {
        for await (const item of items) {
          taken += 1;
          yield item;
        }
      } finally {
        serving -= 1;
      }
    },
    newTurns() {
      let left = MOST_MOMENTS;
      return async () => {
        for (let seen = -1; serving > 0 && seen !== taken && left > 0; left -= 1) {
          seen = taken;
          await moment();
        }
      };
    },
  };
}
