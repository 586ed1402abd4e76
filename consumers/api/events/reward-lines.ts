// Parses posted events: NDJSON with one event per line, or a JSON array. If any event is invalid, nothing is written, and each problem is
// reported with its line. The id of an event is derived from its identity, so posting it again changes nothing.
import type { RewardAttached } from '../../../schemas/generated/events.ts';
import { groupIdOf } from '../../../streams/core/ids.ts';
import { rewardEventId, rewardNamePattern } from '../../../streams/reward/attached.ts';
import { MOST_INT32 } from '../values.ts';

/** The event types that are accepted. */
export const ACCEPTED = 'RewardAttached';
/** Limits that the OpenAPI document describes and the checks below apply. */
export const limits = { events: 10_000, text: 200, int: MOST_INT32, trajectory: /^[^/\s]{1,390}\.[0-9]{1,6}$/u } as const;
/** Maximum number of reported problems. */
const MAX_PROBLEMS = 100;

export interface EventProblem {
  /** `line 3`, or `item 3` of an array, counted from 1, followed by the field, if any. */
  readonly parameter: string;
  readonly message: string;
}

export type PostedRewards =
  | { readonly kind: 'good'; readonly rewards: readonly RewardAttached[] }
  | { readonly kind: 'bad'; readonly problems: readonly EventProblem[] };

interface PostedText {
  readonly text: string;
  readonly isNdjson: boolean;
}

interface RewardOrigin {
  readonly runId: string;
  readonly producer: string;
  /** Microseconds. */
  readonly now: number;
}

interface PostedItem {
  readonly place: string;
  readonly value: unknown;
  /** Set if the text is not JSON, or the body is not an array. */
  readonly error?: string;
}

type PostedFields = Readonly<Record<string, unknown>>;
type FieldCheck = (value: unknown, origin: RewardOrigin) => string | undefined;

const wholeFrom =
  (least: number): FieldCheck =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= limits.int ? undefined : `must be a whole number from ${least}`;
const shortText: FieldCheck = (value) =>
  typeof value === 'string' && Array.from(value).length <= limits.text
    ? undefined
    : `must be a string of at most ${limits.text} characters`;

const REQUIRED = ['type', 'trajectory_id', 'value'] as const;

const checks: Readonly<Record<string, FieldCheck>> = {
  type: (value) => (value === ACCEPTED ? undefined : `must be ${ACCEPTED}: no other events are accepted here`),
  trajectory_id: (value) => (typeof value === 'string' && limits.trajectory.test(value) ? undefined : 'must be <group_id>.<sample>'),
  value: (value) => (Number.isFinite(value) ? undefined : 'must be a finite number'),
  name: (value) =>
    typeof value === 'string' && rewardNamePattern.test(value)
      ? undefined
      : 'must be up to 64 letters, digits, dots, hyphens, or underscores, with a letter or digit first',
  attempt: wholeFrom(0),
  turn: wholeFrom(-1),
  source: shortText,
  identifier: shortText,
  run_id: (value, { runId }) => (value === runId ? undefined : `must be ${runId}, the run of this address`),
  event_id: (value) => (typeof value === 'string' ? undefined : 'must be a string'),
};

export function readRewards(posted: PostedText, origin: RewardOrigin): PostedRewards {
  const items = posted.isNdjson ? linesOf(posted.text) : itemsOf(posted.text);
  if (items.length === 0) return { kind: 'bad', problems: [{ parameter: 'body', message: 'has no events' }] };
  if (items.length > limits.events)
    return { kind: 'bad', problems: [{ parameter: 'body', message: `has more than ${limits.events} events` }] };
  const values = new Map<string, number>();
  const problems: EventProblem[] = [];
  const rewards: RewardAttached[] = [];
  for (const item of items) {
    const found = problemsOf(item, origin);
    const reward = found.length === 0 ? rewardOf(item.value as PostedFields, origin) : undefined;
    problems.push(...found, ...(reward === undefined ? [] : identityProblems(item, reward, values)));
    if (reward !== undefined) rewards.push(reward);
  }
  return problems.length > 0 ? { kind: 'bad', problems: problems.slice(0, MAX_PROBLEMS) } : { kind: 'good', rewards };
}

/** Empty lines are skipped, but count for line numbers. */
const linesOf = (text: string): readonly PostedItem[] =>
  text.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [{ place: `line ${i + 1}`, ...parsed(line) }]));

function itemsOf(text: string): readonly PostedItem[] {
  const { value, error } = parsed(text);
  if (Array.isArray(value)) return value.map((one: unknown, i) => ({ place: `item ${i + 1}`, value: one }));
  return [{ place: 'body', value, error: error ?? 'must be an array of events; application/x-ndjson has an event on each line' }];
}

function parsed(text: string): Omit<PostedItem, 'place'> {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { value: undefined, error: 'is not JSON' };
  }
}

function problemsOf({ place, value, error }: PostedItem, origin: RewardOrigin): readonly EventProblem[] {
  if (error !== undefined) return [{ parameter: place, message: error }];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ parameter: place, message: 'must be an object' }];
  const fields = value as PostedFields;
  const missing = REQUIRED.filter((name) => !Object.hasOwn(fields, name)).map((name) => [name, 'is missing'] as const);
  const wrong = Object.entries(fields).flatMap(([name, one]) => {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const message = check === undefined ? `is not known here; an event has ${Object.keys(checks).join(', ')}` : check(one, origin);
    return message === undefined ? [] : [[name, message] as const];
  });
  return [...missing, ...wrong].map(([name, message]) => ({ parameter: `${place}: ${name.slice(0, limits.text)}`, message }));
}

/** Expects checked fields. */
function rewardOf(fields: PostedFields, { runId, producer, now }: RewardOrigin): RewardAttached {
  const target = {
    trajectory_id: fields['trajectory_id'] as string,
    attempt: (fields['attempt'] ?? 0) as number,
    turn: (fields['turn'] ?? -1) as number,
    name: (fields['name'] ?? 'reward') as string,
    identifier: (fields['identifier'] ?? '') as string,
  };
  return {
    event_id: rewardEventId(target),
    run_id: runId,
    occurred_at: now,
    producer,
    group_id: groupIdOf(target.trajectory_id),
    ...target,
    value: fields['value'] as number,
    source: (fields['source'] ?? '') as string,
  };
}

/** An event id in the request must match the identity, and an identity must have one value. */
function identityProblems({ place, value }: PostedItem, reward: RewardAttached, values: Map<string, number>): readonly EventProblem[] {
  const { event_id: sent } = value as PostedFields;
  const { event_id: id } = reward;
  if (sent !== undefined && sent !== id) return [{ parameter: `${place}: event_id`, message: `must be ${id}, or left out` }];
  const before = values.get(id);
  values.set(id, reward.value);
  return before === undefined || before === reward.value
    ? []
    : [{ parameter: `${place}: value`, message: `differs from an earlier value of ${id}; give it another identifier` }];
}
