// Takes tasks from the consumer group, claims them by committing their offsets, and starts them.
//
// Invariants: a task is started only after a commit of the offset after it succeeded in the generation that delivered it; a commit never
// covers a task that is not started right after it; the tasks of a partition are claimed in order. So a member that lost its partition
// (frozen, partitioned, rebalanced) is fenced before it starts anything, and the next owner of the partition continues after the claimed
// tasks. Crash: the attempts of claimed tasks that were running are lost, and the next attempt is requested; unclaimed tasks are
// redelivered to the next owner of the partition. The group handler never waits for free capacity: it queues (bounded, by pausing the
// topic) and returns, so membership and rebalances continue however long trajectories take.
import type { TrajectoryRequested } from '../../../schemas/generated/events.ts';
import { inStep, type ReachPoint } from '../../../streams/core/crash-points.ts';
import { isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type {
  Clock,
  EventReader,
  GroupConsumer,
  GroupSession,
  LogBatch,
  LogRecord,
  Logger,
  Position,
} from '../../../streams/core/ports.ts';
import { runOf } from '../../../streams/core/read-log.ts';
import { createBackoff } from '../../../streams/core/waiting.ts';
import type { Claim } from './attempt.ts';

export interface IntakeOptions {
  readonly runId: string;
  /** Tasks with another addressee are skipped. */
  readonly addressee: string;
  readonly tasks: GroupConsumer;
  readonly reader: EventReader;
  /** How many more tasks may run now. */
  readonly free: () => number;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Unclaimed tasks in the queue at which the topic is paused. */
  readonly maxQueued: number;
  /** First and longest wait between retries of a commit, ms. */
  readonly retryMs: readonly [number, number];
  /** Takes one slot of `free`; must not throw or wait. */
  readonly start: (claim: Claim) => void;
  /** Called for an error that is neither an outage nor a fence: the worker cannot continue. */
  readonly onFailure: (error: unknown) => void;
  readonly reach: ReachPoint;
}

export interface Intake {
  onBatch(batch: LogBatch, session: GroupSession): Promise<void>;
  /** Claims as many tasks as fit; call it when a slot becomes free. */
  pump(): void;
  /** Claims nothing more; resolves when no commit is in progress. */
  stop(): Promise<void>;
  /** What prevents tasks from being claimed; undefined when nothing does. */
  trouble(): string | undefined;
}

/** A task that waits to be claimed; without a task, records that only need to be skipped. */
interface QueuedTask {
  readonly partition: number;
  /** Offset of the task, or of the last record to skip. */
  readonly offset: number;
  readonly task: TrajectoryRequested | undefined;
  /** Session of the latest delivery. */
  session: GroupSession;
}

const RECENT_ATTEMPTS = 10_000;

export function createIntake(options: IntakeOptions): Intake {
  const intake = new TaskIntake(options);
  return {
    onBatch: (batch, session) => intake.onBatch(batch, session),
    pump: () => {
      intake.pump();
    },
    stop: () => intake.stop(),
    trouble: () => intake.trouble,
  };
}

class TaskIntake {
  readonly #options: IntakeOptions;
  /** By partition and offset, in delivery order. */
  readonly #queue = new Map<string, QueuedTask>();
  readonly #recent = new Set<string>();
  readonly #ages = new WeakMap<GroupSession, number>();
  #sessions = 0;
  readonly #stopping = new AbortController();
  #pumping: Promise<void> | undefined;
  #paused = false;
  trouble: string | undefined;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  async onBatch(batch: LogBatch, session: GroupSession): Promise<void> {
    const { partition } = batch;
    let claimedUpTo = -1;
    for (const record of batch.records) {
      const task = await this.#read(record);
      if (task === undefined) continue;
      this.#enqueue({ partition, offset: record.offset, task, session });
      claimedUpTo = record.offset;
    }
    // Commits past trailing records of others and transaction markers, so that nobody reads them again.
    const last = batch.nextOffset - 1;
    if (last > claimedUpTo) this.#enqueue({ partition, offset: last, task: undefined, session });
    this.#flow();
    this.pump();
  }

  pump(): void {
    if (this.#stopping.signal.aborted || this.#pumping !== undefined) return;
    this.#pumping = this.#claimAll()
      .catch((error: unknown) => {
        this.#stopping.abort();
        this.#options.onFailure(error);
      })
      .finally(() => {
        this.#pumping = undefined;
        if (this.#claimable().length > 0) this.pump();
      });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#pumping;
  }

  async #read(record: LogRecord): Promise<TrajectoryRequested | undefined> {
    const { runId, addressee, reader, logger } = this.#options;
    if (runOf(record) !== runId) return undefined;
    const read = await reader.read(record);
    if (!read.ok) {
      const { partition, offset } = record;
      logger.warn({ partition, offset, reason: read.reason, error: read.error }, 'passing over a task that cannot be read');
      return undefined;
    }
    if (read.value.type !== 'TrajectoryRequested') return undefined;
    const task = read.value.event;
    return task.run_id === runId && task.addressee === addressee ? task : undefined;
  }

  #enqueue(entry: QueuedTask): void {
    const age = this.#ageOf(entry.session);
    // The generation is over: what it delivered is redelivered.
    if (age < this.#sessions) return;
    const key = `${entry.partition}/${entry.offset}`;
    const known = this.#queue.get(key);
    // Redelivered: after a rebalance, the newer session may commit it.
    if (known === undefined) this.#queue.set(key, entry);
    else known.session = entry.session;
  }

  /** Numbers sessions in the order in which they are first seen. */
  #ageOf(session: GroupSession): number {
    const known = this.#ages.get(session);
    if (known !== undefined) return known;
    this.#sessions += 1;
    this.#ages.set(session, this.#sessions);
    return this.#sessions;
  }

  /** Pauses at the high-water mark and resumes at half of it, so that short trajectories do not toggle the topic. */
  #flow(): void {
    const { tasks, maxQueued } = this.#options;
    if (!this.#paused && this.#queue.size >= maxQueued) {
      this.#paused = true;
      tasks.pause(['tasks']);
    } else if (this.#paused && this.#queue.size <= maxQueued / 2) {
      this.#paused = false;
      tasks.resume(['tasks']);
    }
  }

  /** The longest run of entries at the head that one commit can claim now. */
  #claimable(): readonly QueuedTask[] {
    const taken: QueuedTask[] = [];
    let room = this.#options.free();
    for (const entry of this.#queue.values()) {
      if (entry.session !== (taken[0]?.session ?? entry.session)) break;
      if (entry.task !== undefined && room <= 0) break;
      room -= entry.task === undefined ? 0 : 1;
      taken.push(entry);
    }
    return taken;
  }

  async #claimAll(): Promise<void> {
    for (let entries = this.#claimable(); entries.length > 0; entries = this.#claimable()) {
      if (await this.#claim(entries)) this.#startAll(entries);
      if (this.#stopping.signal.aborted) return;
      this.#flow();
    }
  }

  #startAll(entries: readonly QueuedTask[]): void {
    for (const { partition, offset, task } of entries) {
      this.#queue.delete(`${partition}/${offset}`);
      if (task !== undefined && this.#isNew(task)) this.#options.start({ task, partition, offset });
    }
  }

  /** A request that is in the log twice is one attempt. */
  #isNew(task: TrajectoryRequested): boolean {
    const attempt = `${task.trajectory_id}/${task.attempt}`;
    if (this.#recent.has(attempt)) return false;
    this.#recent.add(attempt);
    if (this.#recent.size > RECENT_ATTEMPTS) this.#recent.delete(this.#recent.values().next().value ?? '');
    return true;
  }

  /** Commits; true when the entries are claimed. Retries during outages; a fence drops the entries of the fenced session. */
  async #claim(entries: readonly QueuedTask[]): Promise<boolean> {
    const session = entries[0]?.session;
    if (session === undefined) return false;
    const [firstMs, maxMs] = this.#options.retryMs;
    const backoff = createBackoff({ firstMs, maxMs });
    while (!this.#stopping.signal.aborted) {
      try {
        await inStep(this.#options.reach, 'worker.claim', () => session.commit(positionsOf(entries)));
        this.#noteSuccess();
        return true;
      } catch (error) {
        if (isPlatformError(error, 'GROUP_FENCED')) {
          this.#drop(session);
          return false;
        }
        this.#noteTrouble(error);
      }
      await this.#options.clock.sleep(backoff.next(), this.#stopping.signal);
    }
    return false;
  }

  #noteSuccess(): void {
    if (this.trouble !== undefined) this.#options.logger.info({}, 'tasks are claimed again');
    this.trouble = undefined;
  }

  #noteTrouble(error: unknown): void {
    if (!isPlatformError(error) || !error.retriable) throw error;
    if (this.trouble === undefined) this.#options.logger.warn({ error: messageOf(error) }, 'tasks cannot be claimed; waiting');
    this.trouble = messageOf(error);
  }

  /**
   * Drops every entry whose latest delivery was by the fenced session or an earlier one: those generations are over, and what they left
   * unclaimed is redelivered to the next owner of the partition. Entries that a newer session has delivered stay: they start at the
   * committed offset, and later entries follow them, so the order of a partition is kept.
   */
  #drop(fenced: GroupSession): void {
    this.trouble = undefined;
    const over = this.#ageOf(fenced);
    for (const [key, { session }] of this.#queue) if (this.#ageOf(session) <= over) this.#queue.delete(key);
    this.#options.logger.debug({}, 'tasks moved away before they were claimed');
  }
}

/** The offset after the last entry of each partition. */
function positionsOf(entries: readonly QueuedTask[]): readonly Position[] {
  const next = new Map<number, number>();
  for (const { partition, offset } of entries) next.set(partition, offset + 1);
  return [...next].map(([partition, offset]) => ({ topic: 'tasks', partition, offset }));
}
