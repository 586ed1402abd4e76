// Cells that every projection needs. Times are ticks since the epoch in the column's own unit, which ClickHouse takes
// as they are.
import type { Cell, LogRecord } from '../../../streams/core/ports.ts';

/** A float as JSON can carry it: NaN and the infinities by name, which JSON.stringify would turn into null. */
export const float = (value: number): Cell => (Number.isFinite(value) ? value : String(value));

export const floats = (values: readonly number[]): Cell => (values.every(Number.isFinite) ? values : values.map(float));

/** A record within its topic. */
export const placeOf = (partition: number, offset: number): string => `${partition}/${offset}`;

/** Where in the log a row comes from. */
export interface Origin {
  readonly _topic: string;
  readonly _partition: number;
  readonly _offset: number;
  readonly _timestamp: number;
}

export const originOf = (record: LogRecord): Origin => ({
  _topic: record.topic,
  _partition: record.partition,
  _offset: record.offset,
  _timestamp: Math.trunc(record.timestampMs),
});
