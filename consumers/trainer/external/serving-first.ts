// The rows of the next batch are measured on the thread that sends rows, and a client waits for those that are sent. So measuring gives way
// to sending, but only for a limited time, so that a slow reader does not delay the next lease.
import { setTimeout as after } from 'node:timers/promises';

const MOMENT_MS = 3;
const MOST_MOMENTS = 80;

export interface ServingFirst {
  /** Returns the same items; as long as they are taken quickly, other work gives way. */
  track<T>(items: AsyncIterable<T>): AsyncGenerator<T, void, undefined>;
  /** Returns a wait for one piece of work: until no item was taken for a moment, or not at all once its waits add up to the limit. */
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
