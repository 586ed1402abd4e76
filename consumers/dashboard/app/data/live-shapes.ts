// The newest events of the live stream, without the DOM: how many are kept, and how each is summarized in a line.

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

const told: Readonly<Record<string, readonly string[]>> = {
  TurnRecorded: ['turn', 'tool', 'tool_status', 'worker_id'],
  TrajectoryFinished: ['status', 'reward', 'turns', 'worker_id'],
  TrajectoryStarted: ['worker_id'],
  TrajectoryDiscarded: ['reason', 'staleness_total', 'version'],
  TrajectoryExpired: ['reason', 'next_attempt'],
  StepCompleted: ['step', 'version_after'],
  PolicyPublished: ['version'],
  GroupsAdmitted: ['capacity', 'running', 'version'],
  WorkerHeartbeat: ['worker_id', 'running', 'policy_version'],
  DeadLettered: ['original_topic', 'reason'],
};

/** Summarizes an event: `turn 3, tool search`. */
export function summaryOf({ type, event }: LiveEvent): string {
  const names = told[type] ?? ['reason', 'evaluation_id', 'question_id'];
  return names
    .filter((name) => ['string', 'number', 'boolean'].includes(typeof event[name]) && event[name] !== '')
    .map((name) => {
      const value = event[name];
      return `${name.replaceAll('_', ' ')} ${String(typeof value === 'number' ? Number(value.toPrecision(4)) : value)}`;
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
  if (typeof event['attempt'] === 'number' && event['attempt'] > 0) query.set('attempt', String(event['attempt']));
  if (typeof event['turn'] === 'number') query.set('turn', String(event['turn']));
  const search = query.toString();
  return `${base}/t/${encodeURIComponent(trajectory)}${search === '' ? '' : `?${search}`}`;
}
