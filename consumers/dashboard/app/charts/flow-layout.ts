// The layout of the flow: each trajectory goes into the first lane that is free when it starts, so the height shows how many ran at once.
// No DOM, for tests.
import { firstAt } from '../data/first-at.ts';
import { numbersOf } from '../data/numbers.ts';
import type { ApiFlow } from '../data/watch-shapes.ts';

export interface FlowLayout {
  readonly lanes: number;
  readonly laneOf: Int32Array;
  /** End time of each bar. */
  readonly ends: Float64Array;
  /** When each bar becomes too old to train on; infinite if it does not. */
  readonly bounds: Float64Array;
  readonly startMs: number;
  readonly endMs: number;
}

const column = (flow: ApiFlow, name: string): readonly number[] => flow.columns[name] ?? [];

/** End time of a bar; now for a running one. */
const endOf = (flow: ApiFlow, at: number, nowMs: number): number => {
  const end = column(flow, 'end_ms')[at] ?? 0;
  if (end > 0) return end;
  // an attempt that was given up ended when the trainer recorded that
  const decided = column(flow, 'decided_ms')[at] ?? 0;
  return decided > 0 ? decided : nowMs;
};

/**
 * Takes the first lane that is free at a time. Each node of the tree has the earliest time at which a lane below it is free, so that a
 * search among thousands of lanes takes a few steps.
 */
function createLanes(most: number): (fromMs: number, toMs: number) => number {
  const leaves = 2 ** Math.ceil(Math.log2(Math.max(1, most)));
  const freeAt = new Float64Array(2 * leaves).fill(-Infinity);
  return (fromMs, toMs) => {
    let node = 1;
    while (node < leaves) node = 2 * node + ((freeAt[2 * node] ?? 0) <= fromMs ? 0 : 1);
    const lane = node - leaves;
    freeAt[node] = toMs;
    for (node >>= 1; node >= 1; node >>= 1) freeAt[node] = Math.min(freeAt[2 * node] ?? 0, freeAt[2 * node + 1] ?? 0);
    return lane;
  };
}

/** Assigns lanes to bars, which must be sorted by start. */
export function packFlow(flow: ApiFlow, nowMs: number): FlowLayout {
  const starts = column(flow, 'start_ms');
  const laneOf = new Int32Array(starts.length);
  const ends = numbersOf(starts.length, (at) => endOf(flow, at, nowMs));
  const bounds = numbersOf(starts.length, (at) => boundOf(flow, at) ?? Infinity);
  const take = createLanes(starts.length);
  let [lanes, endMs] = [0, starts[0] ?? 0];
  for (const [at, start] of starts.entries()) {
    const end = ends[at] ?? start;
    const lane = take(start, Math.max(end, start + 1));
    laneOf[at] = lane;
    lanes = Math.max(lanes, lane + 1);
    endMs = Math.max(endMs, end);
  }
  return { lanes, laneOf, ends, bounds, startMs: starts[0] ?? 0, endMs };
}

/** The first bar that may reach into the window. Bars are sorted by start, and none is longer than the longest. */
export function firstIn(starts: readonly number[], fromMs: number, longestMs: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) < fromMs - longestMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const longestOf = (flow: ApiFlow, nowMs: number): number =>
  column(flow, 'start_ms').reduce((most, start, at) => Math.max(most, endOf(flow, at, nowMs) - start), 0);

/** The bar in a lane at a time; -1 if there is none. */
export function barAt(
  flow: ApiFlow,
  layout: FlowLayout,
  at: { readonly lane: number; readonly ms: number; readonly longestMs: number },
): number {
  const starts = column(flow, 'start_ms');
  for (let bar = firstIn(starts, at.ms, at.longestMs); bar < starts.length && (starts[bar] ?? 0) <= at.ms; bar += 1) {
    if (layout.laneOf[bar] === at.lane && (layout.ends[bar] ?? 0) >= at.ms) return bar;
  }
  return -1;
}

interface BarSearch {
  readonly by: 1 | -1;
  readonly fates: ReadonlySet<string>;
}

/** The next or previous bar in order of start that has one of the outcomes; -1 if there is none. */
export function nextBar(flow: ApiFlow, from: number, { by, fates }: BarSearch): number {
  const of = column(flow, 'fate');
  for (let at = from + by; at >= 0 && at < of.length; at += by) if (fates.has(flow.fates[of[at] ?? 0] ?? '')) return at;
  return -1;
}

interface FlowWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The new window after zooming at a time or dragging, clamped to the data. */
export function moveWindow(
  window: FlowWindow,
  layout: FlowLayout,
  by: { readonly zoom?: number; readonly aboutMs?: number; readonly panMs?: number },
): FlowWindow {
  const about = by.aboutMs ?? (window.fromMs + window.toMs) / 2;
  const zoom = by.zoom ?? 1;
  const whole = Math.max(1_000, layout.endMs - layout.startMs);
  const width = Math.min(whole * 1.02, Math.max(200, (window.toMs - window.fromMs) * zoom));
  const share = (about - window.fromMs) / Math.max(1, window.toMs - window.fromMs);
  const from = about - share * width + (by.panMs ?? 0);
  const fromMs = Math.min(Math.max(from, layout.startMs - whole * 0.01), layout.endMs + whole * 0.01 - width);
  return { fromMs, toMs: fromMs + width };
}

/**
 * When a trajectory becomes too old to train on: at the publication of the first version that is further from its starting version than the
 * run allows. Undefined if there is no such publication, or if the limit is unknown.
 */
export function boundOf(flow: ApiFlow, bar: number): number | undefined {
  const first = column(flow, 'version_first')[bar] ?? -1;
  if (bar < 0 || first < 0 || flow.max_staleness === null) return undefined;
  const least = first + flow.max_staleness + 1;
  return flow.versions.at_ms[firstAt(flow.versions.numbers, least)];
}
