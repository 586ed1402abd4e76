// Cell conversions for every projection. Times are ticks since the epoch in the column's own unit, which ClickHouse takes unchanged.
import type { Cell, LogRecord } from '../../../streams/core/ports.ts';

/** A float in JSON: NaN and the infinities by name, because JSON.stringify would turn them into null. */
export const float = (value: number): Cell => (Number.isFinite(value) ? value : String(value));

export const floats = (values: readonly number[]): Cell => (values.every(Number.isFinite) ? values : values.map(float));

/** The position of a record within its topic. */
export const placeOf = (partition: number, offset: number): string => `${partition}/${offset}`;

/** The log position that a row comes from. */
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
