// The events of the live stream, without the DOM: their types, how many are kept, and how each is summarized in a line.

export interface LiveEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp_ms: number;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event: Readonly<Record<string, unknown>>;
}

export const KEPT_EVENTS = 2_000;

/** The newest events first, without duplicates. */
export function withEvents(kept: readonly LiveEvent[], more: readonly LiveEvent[]): readonly LiveEvent[] {
  const known = new Set(kept.map(placeOf));
  const fresh = [...more].reverse().filter((event) => {
    const place = placeOf(event);
    return known.has(place) ? false : known.add(place);
  });
  return [...fresh, ...kept].slice(0, KEPT_EVENTS);
}

export const placeOf = ({ topic, partition, offset }: LiveEvent): string => `${topic}/${partition}/${offset}`;

/** Events that are not shown yet: how many came, and the newest of them, oldest first. */
interface HeldEvents {
  readonly count: number;
  readonly newest: readonly LiveEvent[];
}

export const nothingHeld: HeldEvents = { count: 0, newest: [] };

/** Counts every event, and keeps as many as the list shows. */
export const hold = ({ count, newest }: HeldEvents, event: LiveEvent): HeldEvents => ({
  count: count + 1,
  newest: [...newest, event].slice(-KEPT_EVENTS),
});

/** What the list is limited to: a run, and parts of the names of a worker and a tool. */
interface TailFilter {
  readonly run: string | undefined;
  readonly worker: string | undefined;
  readonly tool: string | undefined;
}

export function fitsTail({ event }: LiveEvent, { run, worker, tool }: TailFilter): boolean {
  const has = (name: string, part: string | undefined): boolean => {
    const value = event[name];
    return part === undefined || (typeof value === 'string' && value.includes(part));
  };
  return (run === undefined || event['run_id'] === run) && has('worker_id', worker) && has('tool', tool);
}

/** What a line shows of each type of event. */
const told: Readonly<Record<string, readonly string[]>> = {
  TurnRecorded: ['turn', 'tool', 'status', 'worker_id'],
  TrajectoryStarted: ['worker_id'],
  TrajectoryFinished: ['status', 'reward', 'turns', 'worker_id'],
  TrajectoryRequested: ['question_id'],
  TrajectoryDiscarded: ['reason', 'staleness_total', 'version'],
  TrajectoryExpired: ['reason', 'next_attempt'],
  RewardAttached: ['name', 'value', 'source', 'turn'],
  StepCompleted: ['step', 'version_after'],
  GroupsAdmitted: ['capacity', 'running', 'version'],
  RewardsCounted: ['sequence'],
  PolicyPublished: ['version'],
  WeightsNamed: ['version', 'format'],
  BatchLeased: ['step', 'epoch', 'rows', 'tokens'],
  BatchReleased: ['step', 'epoch', 'reason'],
  BatchCollected: ['batch', 'version', 'groups', 'reward_mean'],
  TrainerClaimed: ['trainer_id', 'epoch', 'framework'],
  RunStarted: ['algorithm', 'dataset', 'steps'],
  RunContinued: ['steps', 'version'],
  RunRewound: ['version', 'to_version', 'reason'],
  RunFinished: ['steps', 'reason'],
  WorkerHeartbeat: ['worker_id', 'running', 'policy_version'],
  EvaluationStarted: ['evaluation_id', 'policy_version', 'questions'],
  AnswerScored: ['evaluation_id', 'question_id', 'f1'],
  EvaluationCompleted: ['evaluation_id', 'avg_f1'],
  QuestionAccepted: ['question_id', 'dataset', 'split'],
  QuestionRejected: ['question_id', 'dataset', 'reason'],
  DeadLettered: ['original_topic', 'reason'],
  DeadLetterRetried: ['original_topic', 'original_partition', 'original_offset'],
};

/** The types that the page knows. */
export const liveTypes: readonly string[] = Object.keys(told);
/** Types that are hidden by default. */
const quiet: readonly string[] = ['WorkerHeartbeat', 'TrajectoryRequested'];

/** The types that an address names; if it names none, all but the quiet ones. */
export function typesIn(names: string | undefined): readonly string[] {
  const named = new Set((names ?? '').split(',').filter((name) => liveTypes.includes(name)));
  return named.size === 0 ? liveTypes.filter((type) => !quiet.includes(type)) : [...named];
}

/** Summarizes an event: `turn 3, tool search`. */
export function summaryOf({ type, event }: LiveEvent): string {
  const names = told[type] ?? ['reason', 'evaluation_id', 'question_id'];
  return names
    .filter((name) => ['string', 'number', 'boolean'].includes(typeof event[name]) && event[name] !== '')
    .map((name) => {
      const value = event[name];
      const isFraction = typeof value === 'number' && !Number.isInteger(value);
      return `${name.replaceAll('_', ' ')} ${String(isFraction ? Number(value.toPrecision(4)) : value)}`;
    })
    .join(', ');
}

/** The address that an event links to. */
export function linkOf({ type, event }: LiveEvent): string | undefined {
  const text = (name: string): string | undefined => (typeof event[name] === 'string' && event[name] !== '' ? event[name] : undefined);
  const run = text('run_id');
  if (run === undefined) return undefined;
  const base = `/runs/${encodeURIComponent(run)}`;
  if (type === 'StepCompleted' && typeof event['step'] === 'number') return `${base}/steps/${event['step']}`;
  const trajectory = text('trajectory_id');
  if (trajectory === undefined) return base;
  const query = new URLSearchParams();
  if (typeof event['attempt'] === 'number') query.set('attempt', String(event['attempt']));
  if (typeof event['turn'] === 'number') query.set('turn', String(event['turn']));
  const search = query.toString();
  return `${base}/t/${encodeURIComponent(trajectory)}${search === '' ? '' : `?${search}`}`;
}
