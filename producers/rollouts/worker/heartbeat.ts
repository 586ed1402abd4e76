// Reports to the log every few seconds which attempts this worker is running, even when it is idle. While the log is unavailable, at most
// one heartbeat waits: its content is determined when it is put into the outbox.
import type { TrajectoryRequested } from '../../../schemas/generated/events.ts';
import type { Clock } from '../../../streams/core/ports.ts';
import type { Outbox } from './outbox.ts';

export interface HeartbeatOptions {
  readonly runId: string;
  readonly workerId: string;
  readonly addressee: string;
  readonly clock: Clock;
  readonly newestVersion: () => number;
  readonly outbox: Outbox;
  readonly intervalMs: number;
  readonly capacity: number;
  readonly running: () => readonly TrajectoryRequested[];
  readonly onFailure: (error: unknown) => void;
}

export interface Heartbeat {
  /** Sends the first one at once, then one per interval. */
  start(): void;
  /** Sends a last one; resolves when it is in the log, or when the log cannot take it. */
  stop(): Promise<void>;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { runId, workerId, addressee, clock, outbox } = options;
  let number = 0;
  let waiting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Numbers also increase across restarts of the process, because an event_id must be unique. */
  function nextNumber(): number {
    number = Math.max(number + 1, clock.now());
    return number;
  }

  async function send(): Promise<void> {
    const running = options.running();
    const event = {
      event_id: `${workerId}/heartbeat/${nextNumber()}`,
      run_id: runId,
      occurred_at: clock.now() * 1_000,
      producer: `worker/${workerId}`,
      worker_id: workerId,
      policy_version: options.newestVersion(),
      capacity: options.capacity,
      running: running.map(({ group_id, trajectory_id, attempt }) => ({ group_id, trajectory_id, attempt })),
      addressee,
    };
    const { acked } = await outbox.put({ type: 'WorkerHeartbeat', key: workerId, event }, 500 + running.length * 200);
    await acked;
  }

  function beat(): void {
    waiting ??= send()
      .catch(options.onFailure)
      .finally(() => {
        waiting = undefined;
      });
  }

  return {
    start() {
      beat();
      timer = setInterval(beat, options.intervalMs);
    },
    async stop() {
      clearInterval(timer);
      await waiting;
      beat();
      await waiting;
    },
  };
}
