// When kafkajs looks again for requests that wait to be sent. With none waiting it counts the time since the year 1970 until
// the next look, which a timer takes for 1 ms: from its first answer on every connection wakes its process a thousand times a
// second, for ever.

/** The requests of one connection of kafkajs, as far as they are touched here. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

export type RequestQueueClass = new (...options: never[]) => RequestQueue;

/** Looks again only when something waits. What comes later asks for a look itself, and so does every answer. */
export const requestQueueOf = (Original: RequestQueueClass): RequestQueueClass =>
  class extends Original {
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length > 0) super.scheduleCheckPendingRequests();
    }
  };
