// The status of the sink: state, rows, rows per second, lag.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { Clock } from '../../streams/core/ports.ts';
import type { Parked } from './assignment.ts';
import { troubleOf } from './out-of-range.ts';
import type { Metrics, ReportStatus, RoleState } from '../../streams/core/telemetry.ts';

interface SinkPicture {
  /** Set when the lifecycle determines the state; otherwise it is derived from the rest. */
  readonly state: RoleState | undefined;
  /** The reason for waiting; empty if there is none. */
  readonly waiting: string;
  /** Partitions of which nothing is stored. */
  readonly parked: readonly Parked[];
  /** Records of each partition that are in the log but not yet in the tables. */
  readonly positions: readonly { readonly topic: EventTopic; readonly behind: number }[];
  /** Buffered records that are not stored yet. */
  readonly buffered: { readonly bytes: number; readonly records: number };
}

export interface SinkStatus {
  stored(rows: number): void;
  report(picture: SinkPicture): void;
  failed(detail: string): void;
}

/** Lag in records from which the sink counts as catching up. */
const CATCHING_UP = 20_000;
const RATE_WINDOW_MS = 5_000;

export function createSinkStatus(deps: { readonly clock: Clock; readonly metrics: Metrics; readonly report: ReportStatus }): SinkStatus {
  let rowsTotal = 0;
  let lag = 0;
  let parkedBefore: ReadonlySet<EventTopic> = new Set();
  let marks: { atMs: number; rows: number }[] = [];

  function figures(): Record<string, number> {
    const nowMs = deps.clock.monotonic();
    marks = marks.filter((mark) => nowMs - mark.atMs <= RATE_WINDOW_MS);
    const recent = marks.reduce((sum, mark) => sum + mark.rows, 0);
    return { rows_total: rowsTotal, rows_per_s: Math.round((recent * 1_000) / RATE_WINDOW_MS), lag };
  }

  function noteParked(parked: readonly Parked[]): void {
    const byTopic = new Map<EventTopic, number>([...parkedBefore].map((topic) => [topic, 0]));
    for (const { topic } of parked) byTopic.set(topic, (byTopic.get(topic) ?? 0) + 1);
    for (const [topic, partitions] of byTopic) deps.metrics.set('sink_parked_partitions', { topic }, partitions);
    parkedBefore = new Set(parked.map(({ topic }) => topic));
  }

  return {
    stored(rows) {
      rowsTotal += rows;
      marks.push({ atMs: deps.clock.monotonic(), rows });
    },
    report({ state, waiting, parked, positions, buffered }) {
      noteParked(parked);
      const trouble = waiting === '' ? parked.map(troubleOf).join('; ') : waiting;
      deps.metrics.set('sink_buffered_records', {}, buffered.records);
      deps.metrics.set('sink_buffered_bytes', {}, buffered.bytes);
      const byTopic = new Map<EventTopic, number>();
      for (const { topic, behind } of positions) byTopic.set(topic, (byTopic.get(topic) ?? 0) + behind);
      for (const [topic, behind] of byTopic) deps.metrics.set('sink_lag_records', { topic }, behind);
      lag = [...byTopic.values()].reduce((sum, behind) => sum + behind, 0);
      const follows = lag > CATCHING_UP ? 'catching_up' : 'live';
      deps.report({ state: state ?? (trouble === '' ? follows : 'waiting'), detail: trouble, figures: figures() });
    },
    failed(detail) {
      deps.report({ state: 'failed', detail, figures: figures() });
    },
  };
}
