// The skeleton of an attempt, without the DOM: one row per turn, errors, and times. Columns become typed arrays when a response arrives,
// and figures of all turns are computed once.
import type { ApiOutline } from '../data/shapes.ts';
import { firstAt } from '../data/first-at.ts';
import { numbersOf } from '../data/numbers.ts';
import type { VisibleRows } from '../kit/window.ts';

export interface TurnRow {
  readonly turn: number;
  readonly tool: string;
  readonly status: string;
  readonly errorType: string;
  readonly generationMs: number;
  /** The part of `generationMs` before the generation could begin. */
  readonly generationQueueMs: number;
  readonly toolMs: number;
  /** The part of `toolMs` before the call could begin. */
  readonly toolQueueMs: number;
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
  generationQueueMs: 'generation_queue_ms',
  toolMs: 'tool_ms',
  toolQueueMs: 'tool_queue_ms',
  tokens: 'completion_tokens',
  versionMin: 'version_min',
  versionMax: 'version_max',
  atMs: 'at_ms',
  toolAtMs: 'tool_at_ms',
} as const;

type OutlineColumns = Readonly<Record<keyof typeof names, Float64Array>> & { readonly isFailure: readonly boolean[] };

/** 0 for values that were not recorded. */
const columnsOf = once((outline): OutlineColumns => {
  const column = (name: string): Float64Array => {
    const values = outline.columns[name] ?? [];
    return numbersOf(values.length, (at) => values[at] ?? 0);
  };
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
    generationQueueMs: cell('generationQueueMs'),
    toolMs: cell('toolMs'),
    toolQueueMs: cell('toolQueueMs'),
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

/** From the earliest start to the latest end of some rows. */
export function spanOfRows(outline: ApiOutline, { from, to }: VisibleRows): TimeSpan {
  const rows = Array.from({ length: Math.max(0, Math.min(to, outline.turns) - from) }, (_, index) => rowAt(outline, from + index));
  const all = rows.flatMap(segmentsOf);
  if (all.length === 0) return spanOf(outline);
  const startMs = Math.min(...all.map((one) => one.fromMs));
  return { startMs, endMs: Math.max(startMs + 1, ...all.map((one) => one.toMs)) };
}

interface TurnSegment {
  readonly of: 'generation' | 'tool';
  /** Waiting for the concurrency limit of the worker. */
  readonly isQueued: boolean;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a turn did over time: its generation and its tool call, each after the time that it was queued. */
export function segmentsOf(row: TurnRow): readonly TurnSegment[] {
  return [
    ...queuedFirst('generation', row.atMs, [row.generationQueueMs, row.generationMs]),
    ...(row.tool === '' ? [] : queuedFirst('tool', row.toolAtMs, [row.toolQueueMs, row.toolMs])),
  ];
}

function queuedFirst(of: TurnSegment['of'], fromMs: number, [queueMs, ms]: readonly [number, number]): readonly TurnSegment[] {
  const beganMs = fromMs + Math.max(0, Math.min(queueMs, ms));
  const work = { of, isQueued: false, fromMs: beganMs, toMs: fromMs + ms };
  return beganMs === fromMs ? [work] : [{ of, isQueued: true, fromMs, toMs: beganMs }, work];
}

/** Turns that one request of the transcript loads. */
const PART_TURNS = 16;

/** The two parts of the transcript around a row: the one that contains it and the nearer one beside it. */
export function partsAround(at: number, turns: number): readonly VisibleRows[] {
  const own = Math.floor(at / PART_TURNS);
  const last = Math.ceil(turns / PART_TURNS) - 1;
  const first = Math.max(0, Math.min(at % PART_TURNS < PART_TURNS / 2 ? own - 1 : own, last - 1));
  return [first, first + 1]
    .filter((part) => part <= last)
    .map((part) => ({ from: part * PART_TURNS, to: Math.min(turns, (part + 1) * PART_TURNS) }));
}

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
