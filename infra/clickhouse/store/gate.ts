// Admission control of the engine. Writers run one at a time on a lane of their own; readers share the other slots, round robin by client,
// so that a client with a hundred queries does not delay one with a single query. A slot is released when the engine has really finished,
// not when the client disconnects.
import { deferred } from '../../../streams/core/waiting.ts';
import { ClickHouseFailure } from '../clickhouse-error.ts';

type StatementLane = 'read' | 'write';

export interface StoreGate {
  /** Waits for a slot; throws TOO_MANY_SIMULTANEOUS_QUERIES when the queue is full or the wait takes too long. */
  enter(lane: StatementLane, client: string, signal: AbortSignal): Promise<() => void>;
  readonly waiting: number;
  readonly running: number;
  /** Resolves when nothing is running or waiting. */
  idle(): Promise<void>;
}

interface QueuedStatement {
  readonly admit: () => void;
}

interface Queue {
  free: number;
  /** Clients in round-robin order; an entry is never empty. */
  readonly clients: Map<string, QueuedStatement[]>;
  waiting: number;
}

const refusal = (why: string): ClickHouseFailure => new ClickHouseFailure(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', why);

export function createGate(options: { readonly readers: number; readonly queueLimit: number; readonly maxWaitMs: number }): StoreGate {
  const queues: Record<StatementLane, Queue> = {
    read: { free: options.readers, clients: new Map(), waiting: 0 },
    write: { free: 1, clients: new Map(), waiting: 0 },
  };
  const total: Record<StatementLane, number> = { read: options.readers, write: 1 };
  let idle = deferred();
  const waiting = (): number => queues.read.waiting + queues.write.waiting;
  const running = (): number => total.read - queues.read.free + total.write - queues.write.free;

  const leave = (lane: StatementLane): void => {
    const queue = queues[lane];
    const next = takeNext(queue);
    if (next === undefined) queue.free += 1;
    else next.admit();
    if (waiting() + running() > 0) return;
    idle.resolve();
    idle = deferred();
  };
  const once = (lane: StatementLane): (() => void) => {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave(lane);
    };
  };

  return {
    async enter(lane, client, signal) {
      signal.throwIfAborted();
      const queue = queues[lane];
      if (queue.free > 0) {
        queue.free -= 1;
        return once(lane);
      }
      if (queue.waiting >= options.queueLimit) throw refusal(`Too many queries wait for the store (${queue.waiting}). Try again later`);
      await waitInLine(queue, { client, signal, maxWaitMs: options.maxWaitMs });
      return once(lane);
    },
    get waiting() {
      return waiting();
    },
    get running() {
      return running();
    },
    idle: () => (waiting() + running() === 0 ? Promise.resolve() : idle.promise),
  };
}

/** Takes the first waiter of the next client; the client then goes to the end of the queue. */
function takeNext(queue: Queue): QueuedStatement | undefined {
  for (const [client, line] of queue.clients) {
    const next = line.shift();
    queue.clients.delete(client);
    if (line.length > 0) queue.clients.set(client, line);
    if (next === undefined) continue;
    queue.waiting -= 1;
    return next;
  }
  return undefined;
}

function waitInLine(
  queue: Queue,
  options: { readonly client: string; readonly signal: AbortSignal; readonly maxWaitMs: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const line = queue.clients.get(options.client) ?? [];
    const settle = (): void => {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', onAbort);
    };
    const waiter: QueuedStatement = {
      admit: () => {
        settle();
        resolve();
      },
    };
    const withdraw = (reason: Error): void => {
      settle();
      const at = line.indexOf(waiter);
      if (at < 0) return;
      line.splice(at, 1);
      queue.waiting -= 1;
      if (line.length === 0) queue.clients.delete(options.client);
      reject(reason);
    };
    const onAbort = (): void => {
      withdraw(new ClickHouseFailure(394, 'QUERY_WAS_CANCELLED', 'The client went away while the query waited'));
    };
    const timer = setTimeout(() => {
      withdraw(refusal(`The query waited ${options.maxWaitMs} ms for the store. Try again later`));
    }, options.maxWaitMs);
    options.signal.addEventListener('abort', onAbort, { once: true });
    line.push(waiter);
    queue.clients.set(options.client, line);
    queue.waiting += 1;
  });
}
