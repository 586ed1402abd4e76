// Looks for queued requests only while there are some.
//
// Reason: with an empty queue, kafkajs computes a negative delay until the next check, which a timer treats as 1 ms: after its first
// response, every connection wakes the process a thousand times per second, forever.
// Upstream: https://github.com/tulios/kafkajs/issues/1704 and https://github.com/tulios/kafkajs/issues/1751.
import type { Patch } from './patch.ts';

/** The requests of one connection of kafkajs, as far as this patch needs them. */
interface KafkajsRequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

type RequestQueueClass = new (...options: never[]) => KafkajsRequestQueue;

/** Later requests, and every response, schedule a check themselves. */
const requestQueueOf = (Original: RequestQueueClass): RequestQueueClass =>
  class extends Original {
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length > 0) super.scheduleCheckPendingRequests();
    }
  };

export const requestQueuePatch: Patch = { module: 'network/requestQueue/index.js', replace: requestQueueOf };
