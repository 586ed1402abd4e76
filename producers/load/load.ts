// Generates a synthetic run's tasks and rollouts as one sequence of events. Pure: the same options give the same events. The ids of
// questions and workers begin with `synthetic-`. There is no ledger, so no trainer mistakes the run for its own.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { trajectoryId } from '../../streams/core/ids.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { createRandom, deriveSeed } from '../../streams/core/random.ts';
import type { AttemptEnd } from './attempt.ts';
import { createFleet, type OfferedTask } from './fleet.ts';
import { planAttempt, type LoadShape } from './shape.ts';

export const SYNTHETIC_DATASET = 'synthetic';

export interface LoadOptions {
  readonly runId: string;
  readonly purpose: 'train' | 'external';
  readonly seed: number;
  readonly producer: string;
  /** Time of the first event, ms. */
  readonly startMs: number;
  readonly shape: LoadShape;
  /** The load ends at this number of trajectories, rounded up to the end of a group. */
  readonly trajectories: number;
  /** The load also ends at this number of turns, rounded up to the end of a group. Infinity: only `trajectories` decides. */
  readonly turns: number;
  /** How many of the first trajectories are left without an end. */
  readonly open: number;
  /** Attempts that run at once. */
  readonly places: number;
}

export interface Load {
  /** The next event; undefined when the load is complete. */
  next(): OutgoingEvent | undefined;
}

const WORKERS = 32;

/** Newest version at a given time, according to the shape. */
const versionsFrom =
  (shape: LoadShape, startMs: number) =>
  (ms: number): number =>
    Math.min(shape.lastVersion, shape.firstVersion + Math.max(0, Math.floor((ms - startMs) / shape.versionMs)));

export function createLoad(options: LoadOptions): Load {
  const { shape, startMs } = options;
  const retries: OfferedTask[] = [];
  const waiting: OfferedTask[] = [];
  const requests: TrajectoryRequested[] = [];
  let [groups, planned] = [0, 0];

  const onEnded = (offered: OfferedTask, { counts }: AttemptEnd): void => {
    const next = offered.task.attempt + 1;
    if (!counts && !offered.unfinished && next < shape.maxAttempts)
      retries.push({ ...offered, task: retryOf(offered.task, next, fleet.nowMs) });
  };
  const versionAt = versionsFrom(shape, startMs);
  const fleet = createFleet({ shape, places: options.places, workers: WORKERS, startMs, versionAt, onEnded });

  const more = (): boolean => groups * shape.groupSize < options.trajectories && planned < options.turns;

  /** Requests enough attempts to fill the free slots; a request precedes all events of its attempt. */
  function fill(): void {
    while (fleet.free > 0) {
      const retried = retries.shift();
      if (retried !== undefined) requests.push(retried.task);
      else if (waiting.length === 0 && more()) admit();
      const offered = retried ?? waiting.shift();
      if (offered === undefined) return;
      fleet.begin(offered);
    }
  }

  function admit(): void {
    const asked = groupRequests(options, { index: groups, atMs: fleet.nowMs, version: versionAt(fleet.nowMs) });
    requests.push(...asked);
    const first = groups * shape.groupSize;
    waiting.push(...asked.map((task, sample) => ({ task, claim: UNKNOWN_CLAIM, unfinished: first + sample < options.open })));
    for (const task of asked) planned += planAttempt(createRandom(task.seed), shape).recorded;
    groups += 1;
  }

  return {
    next() {
      if (requests.length === 0) fill();
      const request = requests.shift();
      if (request !== undefined) return { type: 'TrajectoryRequested', key: request.trajectory_id, event: request };
      return fleet.next();
    },
  };
}

const UNKNOWN_CLAIM = { partition: -1, offset: -1 };

export const loadGroupId = (runId: string, index: number): string => `${runId}-g${String(index).padStart(6, '0')}`;

/** The requests of one group of a load. */
export function groupRequests(
  { runId, purpose, seed, producer, shape }: Pick<LoadOptions, 'runId' | 'purpose' | 'seed' | 'producer' | 'shape'>,
  at: { readonly index: number; readonly atMs: number; readonly version: number },
): readonly TrajectoryRequested[] {
  const groupId = loadGroupId(runId, at.index);
  return Array.from({ length: shape.groupSize }, (_, sample) => {
    const id = trajectoryId(groupId, sample);
    return {
      event_id: `${id}/0/request`,
      run_id: runId,
      occurred_at: Math.round(at.atMs * 1_000),
      producer,
      group_id: groupId,
      trajectory_id: id,
      attempt: 0,
      sample,
      group_index: at.index,
      group_size: shape.groupSize,
      purpose,
      question_id: `${SYNTHETIC_DATASET}-${at.index}`,
      question: `Synthetic question ${at.index} of a load test; it has no meaning.`,
      answers: [`synthetic answer ${at.index}`],
      aug_answers: [],
      reward: 'f1',
      decoding: 'sample',
      seed: deriveSeed(`${seed}/${at.index}`, sample),
      policy_version: -1,
      max_turns: shape.maxTurns,
      max_tokens: shape.maxTokens,
      max_wall_ms: 3_600_000,
      admitted_version: at.version,
      evaluation_id: '',
      addressee: '',
    };
  });
}

const retryOf = (task: TrajectoryRequested, attempt: number, atMs: number): TrajectoryRequested => ({
  ...task,
  attempt,
  occurred_at: Math.round(atMs * 1_000),
  event_id: `${task.trajectory_id}/${attempt}/request`,
});
