// The skeleton of an attempt, without the DOM: one row per turn, errors, and times. Columns become typed arrays when a response arrives,
// and figures of all turns are computed once.
import type { ApiOutline } from '../data/shapes.ts';
import { firstAt } from '../data/first-at.ts';

export interface TurnRow {
  readonly turn: number;
  readonly tool: string;
  readonly status: string;
  readonly errorType: string;
  readonly generationMs: number;
  readonly toolMs: number;
  readonly tokens: number;
  readonly versionMin: number;
  readonly versionMax: number;
  readonly atMs: number;
  readonly toolAtMs: number;
  readonly failed: boolean;
}

/** A figure of an outline, computed on first use. */
function once<T>(make: (outline: ApiOutline) => T): (outline: ApiOutline) => T {
  const known = new WeakMap<ApiOutline, { readonly value: T }>();
  return (outline) => {
    const found = known.get(outline) ?? { value: make(outline) };
    known.set(outline, found);
    return found.value;
  };
}

const names = {
  turn: 'turn',
  tool: 'tool',
  status: 'status',
  errorType: 'error_type',
  generationMs: 'generation_ms',
  toolMs: 'tool_ms',
  tokens: 'completion_tokens',
  versionMin: 'version_min',
  versionMax: 'version_max',
  atMs: 'at_ms',
  toolAtMs: 'tool_at_ms',
} as const;

type OutlineColumns = Readonly<Record<keyof typeof names, Float64Array>> & { readonly isFailure: readonly boolean[] };

/** 0 for values that were not recorded. */
const columnsOf = once((outline): OutlineColumns => {
  const column = (name: string): Float64Array => Float64Array.from(outline.columns[name] ?? [], (value) => value ?? 0);
  const columns = Object.fromEntries(Object.entries(names).map(([as, name]) => [as, column(name)])) as Record<
    keyof typeof names,
    Float64Array
  >;
  return { ...columns, isFailure: outline.statuses.map((status) => status !== '' && status !== 'ok') };
});

/** One turn of the outline, by index. */
export function rowAt(outline: ApiOutline, at: number): TurnRow {
  const columns = columnsOf(outline);
  const cell = (name: keyof typeof names): number => columns[name][at] ?? 0;
  return {
    turn: cell('turn'),
    tool: outline.tools[cell('tool')] ?? '',
    status: outline.statuses[cell('status')] ?? '',
    errorType: outline.error_types[cell('errorType')] ?? '',
    generationMs: cell('generationMs'),
    toolMs: cell('toolMs'),
    tokens: cell('tokens'),
    versionMin: cell('versionMin'),
    versionMax: cell('versionMax'),
    atMs: cell('atMs'),
    toolAtMs: cell('toolAtMs'),
    failed: columns.isFailure[cell('status')] ?? false,
  };
}

/** Index of a turn, or of the next one if the log lacks it. Turns are sorted by number. */
export const placeOf = (outline: ApiOutline, turn: number): number => firstAt(columnsOf(outline).turn, turn);

/** Indexes of the turns whose tool call failed. */
export const failures = once((outline): readonly number[] => {
  const { status, isFailure } = columnsOf(outline);
  const places: number[] = [];
  for (let at = 0; at < status.length; at += 1) if (isFailure[status[at] ?? 0] === true) places.push(at);
  return places;
});

/** The next index in a sorted list in a direction, wrapping around at the end. */
export function nextOf(places: readonly number[], at: number, direction: 1 | -1): number | undefined {
  if (direction === 1) return places[firstAt(places, at + 1)] ?? places[0];
  return places[firstAt(places, at) - 1] ?? places.at(-1);
}

export interface TimeSpan {
  readonly startMs: number;
  readonly endMs: number;
}

/** From the start of the first generation to the end of the last call. */
export const spanOf = once((outline): TimeSpan => {
  const count = outline.turns;
  if (count === 0) return { startMs: 0, endMs: 0 };
  const last = rowAt(outline, count - 1);
  const startMs = rowAt(outline, 0).atMs;
  return { startMs, endMs: Math.max(startMs + 1, last.atMs + last.generationMs, last.toolAtMs + last.toolMs) };
});

interface MinimapCell {
  readonly ms: number;
  readonly failed: number;
  readonly version: number;
}

/** For each pixel of the minimap: the longest turn, the share of failed calls, and the newest version. */
export function minimap(outline: ApiOutline, pixels: number): readonly MinimapCell[] {
  const { turns } = outline;
  const { generationMs, toolMs, status, versionMax, isFailure } = columnsOf(outline);
  const cells = Array.from({ length: Math.min(pixels, Math.max(1, turns)) }, () => ({ ms: 0, failed: 0, version: -1 }));
  const share = cells.length / turns;
  for (let at = 0; at < turns; at += 1) {
    const slot = cells[Math.floor(at * share)];
    if (slot === undefined) continue;
    slot.ms = Math.max(slot.ms, (generationMs[at] ?? 0) + (toolMs[at] ?? 0));
    slot.failed += isFailure[status[at] ?? 0] === true ? share : 0;
    slot.version = Math.max(slot.version, versionMax[at] ?? -1);
  }
  return cells;
}
