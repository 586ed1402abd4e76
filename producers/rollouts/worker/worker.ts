// One rollout worker of one run: takes tasks as a member of the run's worker group, runs many trajectories concurrently, and writes their
// events to `rollouts`.
//
// Guarantees: no attempt is started by two workers (intake.ts); the events of an attempt are in the log in order and without gaps
// (outbox.ts, attempt.ts); heartbeats list every attempt from its claim until its end is acknowledged. Kafka outage: trajectories pause at
// their next event, memory stays bounded, nothing is lost, and everything continues afterward. Crash: running attempts are lost; heartbeats
// stop, and the trainer requests the next attempts. Stop: running turns end, trajectories are recorded as cancelled, then the worker leaves
// the group.
import { setMaxListeners } from 'node:events';
import type { Policy, Tool } from '../../../streams/core/agents.ts';
import { reachNothing, type ReachPoint } from '../../../streams/core/crash-points.ts';
import { isPlatformError, messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type {
  Clock,
  EventReader,
  EventWriter,
  GroupConsumer,
  GroupOffsets,
  Logger,
  LogReader,
  RunIndex,
} from '../../../streams/core/ports.ts';
import type { Metrics, ReportStatus, RoleState } from '../../../streams/core/telemetry.ts';
import { deferred } from '../../../streams/core/waiting.ts';
import type { Episode } from '../agent/episode.ts';
import type { Memory } from '../agent/run-agent.ts';
import { runAttempt, type AttemptDeps, type Claim } from './attempt.ts';
import { createHeartbeat, type Heartbeat } from './heartbeat.ts';
import { createIntake, type Intake } from './intake.ts';
import type { RewardJudge } from './judged-ending.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { startOfTasks } from './task-start.ts';

interface WorkerOptions {
  /** Concurrent trajectories. */
  readonly concurrency: number;
  readonly heartbeatMs: number;
  /** Time limit of one tool call, ms. */
  readonly toolTimeoutMs?: number;
  /** How far an attempt may exceed its wall-clock limit before it is given up, ms. */
  readonly overrunMs?: number;
  /** How long running turns may take to end when the worker stops, ms; then they are aborted. */
  readonly graceMs?: number;
  /** How long stopping waits for the log to take the last events, ms. */
  readonly drainMs?: number;
  /** How often the status is reported, ms. */
  readonly reportMs?: number;
  /** First and longest wait between retries of an append or a commit, ms. */
  readonly retryMs?: readonly [number, number];
}

export interface WorkerDeps {
  /** Prefix of the consumer group name; the same as that of the topics. */
  readonly namespace: string;
  readonly runId: string;
  /** Unique among all workers of the run, including past ones: its heartbeats carry it. */
  readonly workerId: string;
  /** Evaluation whose tasks alone this worker takes, in a group of its own; by default it takes those of the run. */
  readonly addressee?: string;
  readonly tasks: GroupConsumer;
  readonly writer: EventWriter;
  readonly reader: EventReader;
  readonly offsets: GroupOffsets;
  readonly log: LogReader;
  /** Where runs begin. */
  readonly index?: RunIndex;
  /** Newest version that this worker knows; -1 = none. */
  readonly newestVersion: () => number;
  /** Calls back with each newer version. */
  readonly onNewest?: (listener: (version: number) => void) => void;
  readonly policy: Policy;
  readonly tools: readonly Tool[];
  /** How much of the history the policy sees; by default all of it. */
  readonly memory?: Memory;
  /** Step rewards and end condition of an episode; default: plainEpisode. */
  readonly episode?: Episode;
  /** Share of the questions that are asked as valid; by default no question is marked. */
  readonly validShare?: number;
  /** Its verdict is part of the training reward; by default there is no judge. */
  readonly rewardJudge?: RewardJudge;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly report: ReportStatus;
  readonly options: WorkerOptions;
  /** Named crash points; by default none. */
  readonly reach?: ReachPoint;
}

export interface Worker {
  /** Resolves once the worker is a member of its group. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when every trajectory is recorded and the worker has left the group. Safe to repeat. */
  stop(): Promise<void>;
  /** Resolves after stop; rejects with the error that ended the worker. */
  readonly finished: Promise<void>;
}

/** Consumer group of the workers of a run, or of those of one evaluation. */
const workerGroupOf = ({ namespace, runId, addressee = '' }: WorkerDeps): string =>
  [namespace, 'workers', runId, ...(addressee === '' ? [] : [addressee])].join('.');

export function createWorker(deps: WorkerDeps): Worker {
  const role = new WorkerRole(deps);
  return { start: (signal) => role.start(signal), stop: () => role.stop(), finished: role.finished };
}

/** Interval between checks for the start of the tasks, ms. */
const LOOK_MS = 200;

const defaults = {
  toolTimeoutMs: 30_000,
  overrunMs: 10_000,
  graceMs: 10_000,
  drainMs: 30_000,
  reportMs: 1_000,
  retryMs: [50, 5_000] as const,
};

/** Owns the mutable state: the running attempts, the counters and the role state. */
class WorkerRole {
  readonly finished: Promise<void>;
  readonly #deps: WorkerDeps;
  readonly #options: Required<WorkerOptions>;
  readonly #running = new Map<Claim, Promise<void>>();
  /** Abort controllers of running attempts whose version is trained on only until the next one is published. */
  readonly #pinned = new Map<Claim, AbortController>();
  readonly #soft = new AbortController();
  readonly #hard = new AbortController();
  readonly #outbox: Outbox;
  readonly #intake: Intake;
  readonly #heartbeat: Heartbeat;
  #state: RoleState = 'starting';
  #turns = 0;
  #trajectories = 0;
  #turnsBefore = { turns: 0, atMs: 0, rate: 0 };
  /** Why the start of the tasks is not known yet. */
  #unplaced: string | undefined;
  #reporting: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  readonly #end = deferred();

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#options = { ...defaults, ...deps.options };
    // every running trajectory listens to both, so many listeners are not a leak
    setMaxListeners(0, this.#soft.signal, this.#hard.signal);
    const { writer, logger, clock, runId, addressee = '', reader, tasks } = deps;
    const { concurrency, retryMs } = this.#options;
    this.finished = this.#end.promise;
    this.#outbox = createOutbox({ writer, logger, clock, retryMs, maxPendingEvents: Math.max(1_000, concurrency * 8) });
    this.#intake = createIntake({
      clock,
      runId,
      addressee,
      tasks,
      reader,
      logger,
      retryMs,
      maxQueued: Math.max(16, concurrency),
      reach: deps.reach ?? reachNothing,
      free: () => concurrency - this.#running.size,
      start: (claim) => {
        this.#startAttempt(claim);
      },
      onFailure: (error) => {
        this.#fail(error);
      },
    });
    deps.onNewest?.((version) => {
      this.#giveUpOlder(version);
    });
    this.#heartbeat = createHeartbeat({
      ...deps,
      addressee,
      outbox: this.#outbox,
      intervalMs: this.#options.heartbeatMs,
      capacity: concurrency,
      running: () => [...this.#running.keys()].map(({ task }) => task),
      onFailure: (error) => {
        this.#fail(error);
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#report();
    this.#reporting = setInterval(() => {
      this.#report();
    }, this.#options.reportMs);
    this.#heartbeat.start();
    const { runId, addressee, offsets, log, index, clock } = this.#deps;
    const group = workerGroupOf(this.#deps);
    const onWaiting = (detail: string | undefined): void => {
      this.#unplaced = detail;
    };
    await this.#deps.tasks.start({
      group,
      topics: ['tasks'],
      onAssigned: async (assigned, session) => {
        const partitions = assigned.flatMap((one) => one.partitions);
        return startOfTasks({ runId, addressee, group, offsets, log, index, clock, lookMs: LOOK_MS, onWaiting }, partitions, session);
      },
      onBatch: (batch, session) => this.#intake.onBatch(batch, session),
      onError: (error) => {
        this.#onGroupError(error);
      },
    });
    if (this.#stopping === undefined) this.#state = 'live';
    this.#report();
  }

  /** A task that requests a version to train on becomes useless once there is a newer version. */
  #giveUpOlder(version: number): void {
    for (const [{ task }, pinned] of this.#pinned) if (task.policy_version < version) pinned.abort();
  }

  #startAttempt(claim: Claim): void {
    const isPinned = claim.task.purpose === 'train' && claim.task.policy_version >= 0;
    const useless = new AbortController();
    if (isPinned) this.#pinned.set(claim, useless);
    const { workerId, policy, tools, memory, episode, rewardJudge, validShare, clock, logger, metrics } = this.#deps;
    const { toolTimeoutMs, overrunMs } = this.#options;
    const attempt: AttemptDeps = {
      ...{ workerId, policy, tools, toolTimeoutMs, overrunMs, clock, logger, metrics, outbox: this.#outbox },
      ...(memory === undefined ? {} : { memory }),
      ...(episode === undefined ? {} : { episode }),
      ...(rewardJudge === undefined ? {} : { rewardJudge }),
      ...(validShare === undefined ? {} : { validShare }),
      stopping: this.#soft.signal,
      givingUp: this.#hard.signal,
      ...(isPinned ? { useless: useless.signal } : {}),
      reach: this.#deps.reach ?? reachNothing,
      onTurn: () => {
        this.#turns += 1;
      },
    };
    const run = runAttempt(attempt, claim).then(
      () => {
        this.#trajectories += 1;
      },
      (error: unknown) => {
        this.#fail(error);
      },
    );
    this.#running.set(
      claim,
      run.finally(() => {
        this.#running.delete(claim);
        this.#pinned.delete(claim);
        metrics.set('worker_running', {}, this.#running.size);
        this.#intake.pump();
      }),
    );
    metrics.set('worker_running', {}, this.#running.size);
    // a task may have waited until its version was no longer the newest
    this.#giveUpOlder(this.#deps.newestVersion());
  }

  /** The adapter recovers from outages by itself; any other error ends this worker. */
  #onGroupError(error: unknown): void {
    if (isPlatformError(error) && error.retriable) this.#deps.logger.warn({ error: messageOf(error) }, 'tasks cannot be read; waiting');
    else this.#fail(error);
  }

  /** For an error that is not an outage: the worker stops taking tasks and ends with the error. */
  #fail(error: unknown): void {
    if (this.#state === 'failed' || this.#stopping !== undefined) return;
    this.#state = 'failed';
    this.#report(messageOf(error));
    this.#outbox.abandon(error);
    const reject = (): void => {
      this.#end.reject(error);
    };
    void this.stop().then(reject, reject);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    if (this.#state !== 'failed') this.#state = 'stopping';
    this.#report();
    this.#soft.abort();
    const grace = setTimeout(() => {
      this.#hard.abort();
    }, this.#options.graceMs);
    const drain = setTimeout(() => {
      this.#giveUp();
    }, this.#options.graceMs + this.#options.drainMs);
    try {
      await this.#intake.stop();
      // Leaving first lets another worker take the partitions while the last turns end here.
      await Promise.all([this.#deps.tasks.close(), Promise.all(this.#running.values())]);
      await this.#heartbeat.stop();
    } finally {
      clearTimeout(grace);
      clearTimeout(drain);
      clearInterval(this.#reporting);
    }
    if (this.#state !== 'failed') this.#end.resolve();
    this.#report();
  }

  #giveUp(): void {
    this.#hard.abort();
    const reason = new PlatformError('KAFKA_UNAVAILABLE', 'writing the last events of a stopping worker: the log does not take them');
    const lost = this.#outbox.abandon(reason);
    this.#deps.logger.warn(
      { lost, running: this.#running.size },
      'stopping without the last events; their trajectories are asked for again',
    );
  }

  #report(failure = ''): void {
    const { metrics, newestVersion, clock, report } = this.#deps;
    const trouble = this.#outbox.trouble() ?? this.#intake.trouble() ?? this.#unplaced;
    const waiting = trouble !== undefined && (this.#state === 'live' || this.#state === 'starting');
    const version = newestVersion();
    metrics.set('worker_policy_version', {}, version);
    metrics.set('worker_events_waiting', {}, this.#outbox.pending());
    report({
      state: waiting ? 'waiting' : this.#state,
      detail: failure === '' ? (trouble ?? '') : failure,
      figures: {
        running: this.#running.size,
        turns_total: this.#turns,
        turns_per_s: this.#rate(clock.monotonic()),
        trajectories_total: this.#trajectories,
        policy_version: version,
        events_pending: this.#outbox.pending(),
      },
    });
  }

  /** Turns per second since the previous report. */
  #rate(nowMs: number): number {
    const { turns, atMs, rate } = this.#turnsBefore;
    const elapsedMs = nowMs - atMs;
    if (elapsedMs < this.#options.reportMs / 2) return rate;
    const fresh = atMs === 0 ? 0 : Math.round(((this.#turns - turns) * 10_000) / elapsedMs) / 10;
    this.#turnsBefore = { turns: this.#turns, atMs: nowMs, rate: fresh };
    return fresh;
  }
}
