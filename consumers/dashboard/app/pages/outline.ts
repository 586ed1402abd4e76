// The skeleton of an attempt, as plain values: one row a turn, errors, and the times of a waterfall.
import type { ApiOutline } from '../data/shapes.ts';

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

const cell = (outline: ApiOutline, name: string, at: number): number => outline.columns[name]?.[at] ?? 0;

/** One turn of the outline by its place. */
export function rowAt(outline: ApiOutline, at: number): TurnRow {
  const status = outline.statuses[cell(outline, 'status', at)] ?? '';
  return {
    turn: cell(outline, 'turn', at),
    tool: outline.tools[cell(outline, 'tool', at)] ?? '',
    status,
    errorType: outline.error_types[cell(outline, 'error_type', at)] ?? '',
    generationMs: cell(outline, 'generation_ms', at),
    toolMs: cell(outline, 'tool_ms', at),
    tokens: cell(outline, 'completion_tokens', at),
    versionMin: cell(outline, 'version_min', at),
    versionMax: cell(outline, 'version_max', at),
    atMs: cell(outline, 'at_ms', at),
    toolAtMs: cell(outline, 'tool_at_ms', at),
    failed: status !== '' && status !== 'ok',
  };
}

/** Place of a turn, or of the first turn behind it; turns are in order, but the log may lack some. */
export function placeOf(outline: ApiOutline, turn: number): number {
  const turns = outline.columns['turn'] ?? [];
  let [low, high] = [0, turns.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((turns[middle] ?? 0) < turn) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Places of the turns whose tool call failed. */
export function failures(outline: ApiOutline): readonly number[] {
  const statuses = outline.columns['status'] ?? [];
  return statuses.flatMap((status, at) => (['', 'ok'].includes(outline.statuses[status ?? 0] ?? '') ? [] : [at]));
}

/** The nearest place of a sorted list in a direction, around the end. */
export function nextOf(places: readonly number[], at: number, direction: 1 | -1): number | undefined {
  if (places.length === 0) return undefined;
  if (direction === 1) return places.find((place) => place > at) ?? places[0];
  return places.findLast((place) => place < at) ?? places.at(-1);
}

export interface TimeSpan {
  readonly startMs: number;
  readonly endMs: number;
}

/** From the first generation to the end of the last call. */
export function spanOf(outline: ApiOutline): TimeSpan {
  const count = outline.turns;
  if (count === 0) return { startMs: 0, endMs: 0 };
  const last = rowAt(outline, count - 1);
  const startMs = rowAt(outline, 0).atMs;
  return { startMs, endMs: Math.max(startMs + 1, last.atMs + last.generationMs, last.toolAtMs + last.toolMs) };
}

/** For each pixel of the minimap: share of the longest call, share of the calls that failed, the newest version. */
export function minimap(
  outline: ApiOutline,
  pixels: number,
): readonly { readonly ms: number; readonly failed: number; readonly version: number }[] {
  const cells = Array.from({ length: Math.min(pixels, Math.max(1, outline.turns)) }, () => ({ ms: 0, failed: 0, version: -1 }));
  for (let at = 0; at < outline.turns; at += 1) {
    const row = rowAt(outline, at);
    const slot = cells[Math.floor((at * cells.length) / outline.turns)];
    if (slot === undefined) continue;
    slot.ms = Math.max(slot.ms, row.generationMs + row.toolMs);
    slot.failed += row.failed ? cells.length / outline.turns : 0;
    slot.version = Math.max(slot.version, row.versionMax);
  }
  return cells;
}
