// A short run as log records, and the rows that the warehouse would write for it: three steps; groups that are trained, stale and uniform;
// a lost attempt; an evaluation; questions and a dead letter.
import type { OutgoingEvent, Row, Store } from '../../streams/core/ports.ts';
import type { EventByType, EventType, StepCompleted } from '../../schemas/generated/events.ts';
import { project } from '../../consumers/warehouse/rows/project.ts';
import { outgoing, randomEvent, seeded } from './events.ts';
import type { MemoryLog } from './memory-log.ts';
import { finished, requested, started, turn } from './rollout-events.ts';

export const storyRun = 'run-a';
const random = seeded(7);
const SECOND = 1_000_000;
const AT = 1_700_000_000_000_000;
/** The fields that both the start and the end of an evaluation have; a real evaluation gives both the same values. */
const evaluation = { evaluation_id: 'eval-1', dataset: 'factbook', split: 'heldout', policy_version: 3, questions: 1, samples: 3 };

const some = <T extends EventType>(type: T, overrides: Partial<EventByType[T]>): OutgoingEvent =>
  outgoing(type, randomEvent(type, random, { run_id: storyRun, ...overrides }));

/** Four trajectories per step with two turns each; the second turn of sample 1 calls a tool that fails. */
function rolloutsOf(step: number): OutgoingEvent[] {
  return [0, 1].flatMap((group) =>
    [0, 1].flatMap((sample) => {
      const trajectory = `${storyRun}-g${step}-${group}.${sample}`;
      const place = { trajectory };
      const times = { started_at: AT + step * 10 * SECOND, finished_at: AT + (step * 10 + group * 2 + sample + 1) * SECOND };
      const failing = sample === 1 ? { status: 'error', error_type: 'not_found', tool: 'access', result: '' } : {};
      return [
        outgoing('TrajectoryRequested', requested(place, { question: `Which country is number ${group}?`, sample })),
        outgoing('TrajectoryStarted', started({ ...place, sequence: 0 })),
        outgoing('TurnRecorded', turn({ ...place, sequence: 1 }, step - 1)),
        outgoing('TurnRecorded', turn({ ...place, sequence: 2 }, step, failing)),
        outgoing(
          'TrajectoryFinished',
          finished({ ...place, sequence: 3 }, sample, {
            question: `Which country is number ${group}?`,
            version_first: step - 1,
            version_last: step,
            ...times,
          }),
        ),
      ];
    }),
  );
}

function stepOf(step: number): OutgoingEvent[] {
  const base = randomEvent('StepCompleted', random, { run_id: storyRun, step, version_before: step - 1, version_after: step, groups: 1 });
  const template = base.trajectories[0] ?? randomTrajectory();
  const trajectories = [0, 1].map((sample) => ({
    ...template,
    group_id: `${storyRun}-g${step}-0`,
    trajectory_id: `${storyRun}-g${step}-0.${sample}`,
    attempt: 0,
    reward: sample,
    turns: 2,
    tokens: 20,
    unknown_tokens: 0,
    staleness_total: 1,
    staleness_in_flight: 1,
    staleness_in_queue: 0,
  }));
  return [
    outgoing('StepCompleted', { ...base, trajectories, metrics: { ...base.metrics, reward_mean: step / 10 } }),
    some('PolicyPublished', { version: step, parent: step - 1, weights: Buffer.from('weights'), optimizer: Buffer.from('moments') }),
    ...[0, 1].map((sample) =>
      some('TrajectoryDiscarded', {
        sequence: 100 + step * 2 + sample,
        group_id: `${storyRun}-g${step}-1`,
        trajectory_id: `${storyRun}-g${step}-1.${sample}`,
        attempt: 0,
        reason: step === 2 ? 'stale' : 'uniform_group',
        version: step - 1,
        reward: 0.5,
        turns: 4,
        tokens: 40,
        staleness_total: 3,
      }),
    ),
  ];
}

function randomTrajectory(): StepCompleted['trajectories'][number] {
  for (;;) {
    const [first] = randomEvent('StepCompleted', random).trajectories;
    if (first !== undefined) return first;
  }
}

/** Every event of the story, in order. */
export function storyEvents(): readonly OutgoingEvent[] {
  const lost = { trajectory: `${storyRun}-g4-0.0` };
  return [
    some('RunStarted', { sequence: 0, seed: 5, steps: 3, dataset: 'factbook', algorithm: 'grpo' }),
    ...[1, 2, 3].flatMap((step) => [...rolloutsOf(step), ...stepOf(step)]),
    outgoing('TrajectoryRequested', requested(lost)),
    outgoing('TrajectoryStarted', started(lost)),
    some('TrajectoryExpired', {
      sequence: 200,
      trajectory_id: lost.trajectory,
      group_id: `${storyRun}-g4-0`,
      attempt: 0,
      reason: 'silent',
      next_attempt: 1,
    }),
    outgoing('TrajectoryRequested', requested({ ...lost, attempt: 1 })),
    some('EvaluationStarted', evaluation),
    ...[0, 1, 2].map((sample) => some('AnswerScored', { evaluation_id: 'eval-1', question_id: 'q-9', sample, attempt: 0 })),
    some('EvaluationCompleted', { ...evaluation, avg_f1: 0.75 }),
    some('EvaluationStarted', { evaluation_id: 'eval-2', dataset: 'factbook', split: 'heldout', policy_version: 3 }),
    ...[1, 2, 3].map((number) =>
      some('QuestionAccepted', {
        question_id: `q-${number}`,
        dataset: 'factbook',
        split: 'train',
        question: `Which river is number ${number}?`,
        run_id: '',
      }),
    ),
    some('QuestionRejected', { question_id: 'q-4', dataset: 'factbook', split: 'train', reason: 'too_easy', run_id: '' }),
    some('DeadLettered', { original_topic: 'rollouts', reason: 'not_framed', original_value: Buffer.from('junk') }),
  ];
}

/** Writes the story to the log and its rows to the store. */
export async function tellStory(log: MemoryLog, store: Store): Promise<void> {
  await log.writer().append(storyEvents());
  await storeLog(log, store);
}

/** Stores every record of the log as rows. `told` is part of the insert tokens, so that one log is stored only once. */
export async function storeLog(log: MemoryLog, store: Store, told = 'story'): Promise<void> {
  const tables = new Map<string, Row[]>();
  for (const topic of ['tasks', 'rollouts', 'training', 'policies', 'questions', 'evaluations', 'dead-letters'] as const) {
    for (const record of log.records(topic)) {
      const decoded = record.value === null ? undefined : log.codec.decode(record.value);
      if (decoded?.ok !== true) continue;
      project(record, decoded.value, (table, row) => {
        tables.set(table, [...(tables.get(table) ?? []), row]);
      });
    }
  }
  for (const [table, rows] of tables) await store.insert(table, rows, `${told}-${table}`);
}
