// Plain rollout events for tests of the fold; every field has a value that a test may override.
import type {
  RewardAttached,
  TrajectoryFinished,
  TrajectoryRequested,
  TrajectoryStarted,
  TurnRecorded,
  WorkerHeartbeat,
} from '../../schemas/generated/events.ts';
import { emptyTurn } from '../../schemas/rollouts/turn.ts';
import { rewardEventId } from '../../streams/reward/attached.ts';
import { groupIdOf, rolloutEventId } from '../../streams/core/ids.ts';

interface RolloutPosition {
  readonly trajectory: string;
  readonly attempt?: number;
  readonly sequence?: number;
  readonly run?: string;
}

const AT = 1_700_000_000_000_000;

const rollout = ({ trajectory, attempt = 0, sequence = 0, run = 'run-a' }: RolloutPosition) => ({
  event_id: rolloutEventId(trajectory, attempt, sequence),
  run_id: run,
  occurred_at: AT,
  producer: 'worker/w-0',
  group_id: groupIdOf(trajectory),
  trajectory_id: trajectory,
  attempt,
  worker_id: 'w-0',
  purpose: 'train',
  sequence,
  question_id: 'q-0',
});

export function requested(place: RolloutPosition, fields: Partial<TrajectoryRequested> = {}): TrajectoryRequested {
  const { trajectory, attempt = 0, run = 'run-a' } = place;
  return {
    event_id: `${trajectory}/${attempt}/request`,
    run_id: run,
    occurred_at: AT,
    producer: 'trainer/t-0',
    group_id: groupIdOf(trajectory),
    trajectory_id: trajectory,
    attempt,
    sample: Number(trajectory.split('.').at(-1)),
    group_index: 0,
    group_size: 2,
    purpose: 'train',
    question_id: 'q-0',
    question: 'Which country?',
    answers: ['Austria'],
    aug_answers: [],
    reward: 'f1',
    decoding: 'sample',
    seed: 1,
    policy_version: -1,
    max_turns: 8,
    max_tokens: 10_000,
    max_wall_ms: 60_000,
    admitted_version: 0,
    evaluation_id: '',
    addressee: '',
    ...fields,
  };
}

export const started = (place: RolloutPosition, fields: Partial<TrajectoryStarted> = {}): TrajectoryStarted => ({
  ...rollout(place),
  task_partition: 0,
  task_offset: 0,
  ...fields,
});

/** A turn by one policy version with a two-candidate decision. */
export function turn(place: RolloutPosition, version: number, fields: Partial<TurnRecorded> = {}): TurnRecorded {
  return {
    ...emptyTurn,
    ...rollout(place),
    turn: Math.max(0, (place.sequence ?? 1) - 1),
    policy_spans: [{ version, tokens: 10 }],
    prompt_tokens: 100,
    completion_tokens: 10,
    generation_ms: 1,
    finish_reason: 'stop',
    text: '<search> capital of Austria </search>',
    tool: 'search',
    call_id: 'c',
    arguments: '{"query":"capital of Austria"}',
    status: 'ok',
    started_at: AT,
    latency_ms: 1,
    result: 'Vienna',
    result_chars: 6,
    decision: {
      features: Buffer.from(new Float32Array([1, 0, 0, 1]).buffer),
      candidates: 2,
      width: 2,
      chosen: 0,
      logprob: -0.7,
      entropy: 0.7,
    },
    ...fields,
  };
}

export const finished = (place: RolloutPosition, reward: number, fields: Partial<TrajectoryFinished> = {}): TrajectoryFinished => ({
  ...rollout(place),
  question: 'Which country?',
  answer: 'Austria',
  status: 'answered',
  error: '',
  reward,
  f1: reward,
  em: reward === 1 ? 1 : 0,
  cem: reward === 1 ? 1 : 0,
  format_ok: true,
  turns: Math.max(0, (place.sequence ?? 1) - 1),
  tool_calls: 1,
  tool_errors: 0,
  prompt_tokens: 100,
  completion_tokens: 10 * Math.max(0, (place.sequence ?? 1) - 1),
  version_first: 0,
  version_last: 0,
  started_at: AT,
  finished_at: AT + 2_000_000,
  ...{
    judge: '',
    verdict: '',
    judge_reason: '',
    judge_tries: 0,
    judge_ms: 0,
    judge_served: '',
    judge_version: -1,
    judge_prompt_sha256: '',
  },
  ...{ asked_as: '', called_invalid: false },
  ...fields,
});

/** A reward for a whole attempt, named `human` unless a test overrides it. */
export function rewarded(place: Omit<RolloutPosition, 'sequence'>, value: number, fields: Partial<RewardAttached> = {}): RewardAttached {
  const { trajectory, attempt = 0, run = 'run-a' } = place;
  const target = { trajectory_id: trajectory, attempt, turn: -1, name: 'human', identifier: '', ...fields };
  return {
    event_id: rewardEventId(target),
    run_id: run,
    occurred_at: AT,
    producer: 'api/test',
    group_id: groupIdOf(trajectory),
    value,
    source: 'test',
    ...target,
  };
}

export const heartbeat = (workerId: string, run = 'run-a'): WorkerHeartbeat => ({
  event_id: `${workerId}/heartbeat/0`,
  run_id: run,
  occurred_at: AT,
  producer: `worker/${workerId}`,
  worker_id: workerId,
  policy_version: 0,
  capacity: 8,
  running: [],
  addressee: '',
});
