// Divides units into slices that fit into memory.
import type { Key, ExportUnit } from './shapes.ts';

export interface SliceLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** Consecutive units, at least one. */
export interface Slice {
  /** The key before the first unit. */
  readonly after: Key;
  readonly units: readonly ExportUnit[];
}

/** Yields slices in order; each is full, has a single unit, or is the last. */
export function* cutSlices(after: Key, units: Iterable<ExportUnit>, limits: SliceLimits): Generator<Slice> {
  let from = after;
  let taken: ExportUnit[] = [];
  let [rows, bytes] = [0, 0];
  for (const unit of units) {
    if (taken.length > 0 && (rows + unit.rows > limits.rows || bytes + unit.bytes > limits.bytes)) {
      yield { after: from, units: taken };
      from = taken.at(-1) ?? from;
      taken = [];
      [rows, bytes] = [0, 0];
    }
    taken.push(unit);
    rows += unit.rows;
    bytes += unit.bytes;
  }
  if (taken.length > 0) yield { after: from, units: taken };
}

/** Splits a slice in two; undefined when it has a single unit. */
export function halvesOf({ after, units }: Slice): readonly [Slice, Slice] | undefined {
  const middle = units.length >> 1;
  const last = units[middle - 1];
  if (last === undefined) return undefined;
  return [
    { after, units: units.slice(0, middle) },
    { after: last, units: units.slice(middle) },
  ];
}

/** The bound parameters for the statement of a slice. */
export function sliceParams({ after, units }: Slice): Readonly<Record<string, string | number>> {
  const last = units.at(-1) ?? after;
  let [low, high] = [units[0]?.low ?? '', units[0]?.high ?? ''];
  for (const unit of units) {
    // Compares bytes, as ClickHouse does.
    if (Buffer.compare(Buffer.from(unit.low), Buffer.from(low)) < 0) low = unit.low;
    if (Buffer.compare(Buffer.from(unit.high), Buffer.from(high)) > 0) high = unit.high;
  }
  const { id, attempt, block } = after;
  return { id, attempt, block, low, high, last_id: last.id, last_attempt: last.attempt, last_block: last.block };
}
