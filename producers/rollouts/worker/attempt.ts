// Runs one claimed attempt and writes its events: TrajectoryStarted (sequence 0), each turn, TrajectoryFinished. Guarantees: sequences have
// no gaps; whatever policy and tools do, even if they hang, the attempt ends with a TrajectoryFinished unless the process dies or the log
// permanently rejects an event; the attempt is over when the log has acknowledged that end.
import type { ToolTiming, TrajectoryRequested, TurnRecorded } from '../../../schemas/generated/events.ts';
import type { Policy, Tool } from '../../../streams/core/agents.ts';
import { inStep, type ReachPoint } from '../../../streams/core/crash-points.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import type { Clock, Logger, OutgoingEvent } from '../../../streams/core/ports.ts';
import { createRandom } from '../../../streams/core/random.ts';
import type { Metrics } from '../../../streams/core/telemetry.ts';
import { scoreAnswer } from '../../../streams/reward/score.ts';
import { askedAs } from '../../../streams/reward/validity.ts';
import type { Episode } from '../agent/episode.ts';
import { runAgent, type Memory } from '../agent/run-agent.ts';
import type { TurnOutcome } from '../agent/turn-outcome.ts';
import { turnBytes } from './fit-record.ts';
import { judgedEnding, needsVerdict, type RewardJudge } from './judged-ending.ts';
import type { Outbox } from './outbox.ts';
import {
  addTurn,
  calledTool,
  finishedEvent,
  noTurns,
  startedEvent,
  traceparentOf,
  turnEvent,
  worthless,
  type AttemptResult,
  type EventPlace,
} from './rollout-events.ts';

export interface AttemptDeps {
  readonly workerId: string;
  readonly outbox: Outbox;
  readonly policy: Policy;
  readonly tools: readonly Tool[];
  readonly memory?: Memory;
  readonly episode?: Episode;
  /** Share of the questions whose prompt says that they are valid. If undefined, no prompt mentions validity. */
  readonly validShare?: number;
  /** If set, its verdict is part of the training reward. */
  readonly rewardJudge?: RewardJudge;
  readonly toolTimeoutMs: number;
  /** How long after its wall-clock limit an attempt is given up, ms. */
  readonly overrunMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Aborted when the worker stops: running turns end, and no new ones start. */
  readonly stopping: AbortSignal;
  /** Aborted when running turns take too long to end: they are given up. */
  readonly givingUp: AbortSignal;
  /** Aborted when this attempt can no longer be used: it ends at once. */
  readonly useless?: AbortSignal;
  readonly onTurn: () => void;
  readonly reach: ReachPoint;
}

/** A task whose offset is committed. */
export interface Claim {
  readonly task: TrajectoryRequested;
  readonly partition: number;
  readonly offset: number;
}

/** Upper bound for the size of an event without its long texts, bytes. */
const SMALL_EVENT_BYTES = 1_000;

/** Runs one attempt. Resolves once its end is acknowledged; rejects if the log rejects its events. */
export async function runAttempt(deps: AttemptDeps, claim: Claim): Promise<void> {
  const attempt = new RunningAttempt(deps, claim);
  await attempt.begin();
  const ending = await attempt.run();
  await attempt.end(ending);
}

class RunningAttempt {
  readonly #deps: AttemptDeps;
  readonly #claim: Claim;
  readonly #identity;
  readonly #traceparent: string;
  readonly #startedAtMs: number;
  readonly #beganMs: number;
  #sequence = 0;
  #totals = noTurns;
  #over = false;

  constructor(deps: AttemptDeps, claim: Claim) {
    this.#deps = deps;
    this.#claim = claim;
    this.#identity = { task: claim.task, workerId: deps.workerId };
    this.#traceparent = traceparentOf(claim.task);
    this.#startedAtMs = deps.clock.now();
    this.#beganMs = deps.clock.monotonic();
  }

  async begin(): Promise<void> {
    const event = startedEvent(this.#identity, this.#claim, this.#startedAtMs);
    await inStep(this.#deps.reach, 'worker.start', () =>
      this.#put({ type: 'TrajectoryStarted', key: event.group_id, event }, SMALL_EVENT_BYTES),
    );
  }

  /** Never rejects: a bug in a policy or a tool ends the attempt, not the worker. */
  async run(): Promise<AttemptResult> {
    const { task } = this.#claim;
    const { policy, tools, memory, episode, toolTimeoutMs, clock, stopping, useless, validShare = -1 } = this.#deps;
    const asked = task.purpose === 'train' ? askedAs(task.group_id, validShare) : undefined;
    const watch = this.#watch(task.max_wall_ms);
    const running = runAgent({
      ...{ policy, tools, task, clock, toolTimeoutMs, signal: stopping },
      ...(memory === undefined ? {} : { memory }),
      ...(episode === undefined ? {} : { episode }),
      ...(useless === undefined ? {} : { useless }),
      ...(asked === undefined ? {} : { askedAs: asked }),
      random: createRandom(task.seed, task.attempt),
      onTurn: (outcome) => this.#onTurn(outcome),
      onPrefixBreak: () => {
        this.#deps.metrics.count('worker_prefix_breaks_total', {});
      },
    });
    try {
      const result = await Promise.race([running, watch.ended]);
      if (task.purpose === 'eval' && result.answer !== '') return { ...result, ...scoreAnswer(result.answer, task.answers, 'eval') };
      return await this.#judged(result, watch.ended);
    } catch (error) {
      this.#deps.logger.warn({ trajectory: task.trajectory_id, attempt: task.attempt, error: messageOf(error) }, 'an attempt failed');
      return worthless('failed', messageOf(error));
    } finally {
      this.#over = true;
      watch.stop();
      // Errors of an abandoned agent are ignored.
      running.catch(() => undefined);
    }
  }

  async #judged(ending: AttemptResult, ended: Promise<AttemptResult>): Promise<AttemptResult> {
    const { rewardJudge: by, clock, metrics, useless } = this.#deps;
    const { task } = this.#claim;
    if (by === undefined || !needsVerdict(ending, task)) return ending;
    return judgedEnding(ending, task, { by, clock, metrics, ended, ...(useless === undefined ? {} : { useless }) });
  }

  async end(ending: AttemptResult): Promise<void> {
    // monotonic, so that a clock that is set meanwhile changes no duration
    const finishedAtMs = this.#startedAtMs + this.#deps.clock.monotonic() - this.#beganMs;
    const parts = { ending, totals: this.#totals, startedAtMs: this.#startedAtMs, finishedAtMs };
    const event = finishedEvent(this.#identity, parts, this.#nextPlace());
    const bytes = SMALL_EVENT_BYTES + 3 * (event.question.length + event.answer.length + event.error.length);
    await inStep(this.#deps.reach, 'worker.finish', async () => {
      const { acked } = await this.#put({ type: 'TrajectoryFinished', key: event.group_id, event }, bytes);
      await acked;
    });
    this.#deps.metrics.count('worker_trajectories_total', { status: event.status });
  }

  async #onTurn(outcome: TurnOutcome): Promise<void> {
    if (this.#over) throw new Error('the attempt was given up');
    // built before the sequence advances: a turn that cannot be built leaves no gap
    const event = turnEvent(this.#identity, outcome, this.#nextPlace());
    const bytes = turnBytes(event);
    this.#sequence = event.sequence;
    this.#totals = addTurn(this.#totals, event);
    this.#note(event);
    await this.#put({ type: 'TurnRecorded', key: event.group_id, event }, bytes);
    this.#deps.reach('worker.trajectory.mid');
  }

  #nextPlace(): EventPlace {
    return { sequence: this.#sequence + 1, atMs: this.#deps.clock.now() };
  }

  #put(event: OutgoingEvent, bytes: number): ReturnType<Outbox['put']> {
    return this.#deps.outbox.put({ ...event, traceparent: this.#traceparent }, bytes);
  }

  #note(turn: TurnRecorded): void {
    const { metrics, onTurn } = this.#deps;
    const labels = { tool: turn.tool, status: turn.status };
    metrics.count('worker_turns_total', labels);
    if (calledTool(turn)) metrics.observe('worker_tool_seconds', labels, turn.latency_ms / 1_000);
    if (turn.tool_timing !== null) this.#noteTool(turn.tool, turn.tool_timing);
    onTurn();
  }

  #noteTool(tool: string, { queue_ms: queueMs, retries, server_ms: serverMs }: ToolTiming): void {
    const { metrics } = this.#deps;
    metrics.observe('worker_tool_queue_seconds', { tool }, queueMs / 1_000);
    metrics.observe('worker_tool_server_seconds', { tool }, serverMs / 1_000);
    if (retries > 0) metrics.count('worker_tool_retries_total', { tool }, retries);
  }

  /** Ends an attempt whose policy or tool ignores all signals. */
  #watch(maxWallMs: number): { readonly ended: Promise<AttemptResult>; readonly stop: () => void } {
    const { givingUp, overrunMs } = this.#deps;
    let stop: () => void = () => undefined;
    const ended = new Promise<AttemptResult>((resolve) => {
      const onGivingUp = (): void => {
        resolve(worthless('cancelled', 'the worker stopped before the running turn ended'));
      };
      const timer = setTimeout(
        () => {
          resolve(worthless('timeout', `the running turn did not end ${overrunMs} ms after the wall-clock limit`));
        },
        Math.min(maxWallMs + overrunMs, 2 ** 31 - 1),
      );
      givingUp.addEventListener('abort', onGivingUp);
      stop = () => {
        clearTimeout(timer);
        givingUp.removeEventListener('abort', onGivingUp);
      };
      if (givingUp.aborted) onGivingUp();
    });
    return { ended, stop };
  }
}
