// The tables that the sink writes. Each is filled from one topic only, so that the audit knows where to look.
import type { EventTopic } from '../../../schemas/generated/events.ts';

export const tableTopics = {
  tasks: 'tasks',
  trajectory_starts: 'rollouts',
  turns: 'rollouts',
  trajectories: 'rollouts',
  heartbeats: 'rollouts',
  run_events: 'training',
  admissions: 'training',
  steps: 'training',
  step_trajectories: 'training',
  batches: 'training',
  collected_trajectories: 'training',
  discarded_trajectories: 'training',
  expired_attempts: 'training',
  policies: 'policies',
  questions: 'questions',
  evaluation_events: 'evaluations',
  evaluation_scores: 'evaluations',
  dead_letter_events: 'dead-letters',
  dead_letter_retries: 'dead-letters',
} as const satisfies Record<string, EventTopic>;

export type TableName = keyof typeof tableTopics;

/** The tables that are filled from one topic. */
export type TableOf<T extends EventTopic> = { [N in TableName]: (typeof tableTopics)[N] extends T ? N : never }[TableName];

export const tableNames = Object.keys(tableTopics) as readonly TableName[];

export const warehouseTopics: readonly EventTopic[] = [...new Set(Object.values(tableTopics))];

export const tablesOf = (topic: EventTopic): readonly TableName[] => tableNames.filter((table) => tableTopics[table] === topic);
