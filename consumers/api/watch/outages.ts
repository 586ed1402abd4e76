// Outages of tools, found in the numbers of calls in short spans of equal length. A tool has an outage while at least 30 % of its calls
// fail, and at least three times as many as usual or half of them. With few calls, that may be chance: a few calls that work do not end an
// outage, and failures that chance explains are no outage.
import type { RowOf } from '../columns.ts';
import type { outageColumns, weatherColumns } from './watch.columns.ts';

export type OutageRow = RowOf<typeof outageColumns>;
/** Calls of a tool in a span. */
export type SpanCalls = Pick<RowOf<typeof weatherColumns>, 'tool' | 'at' | 'calls' | 'failed'>;

export interface FoundOutage extends Omit<OutageRow, 'from_step' | 'to_step'> {
  /** Set if the tool has not worked since. */
  readonly isOpen?: boolean;
}

/** Longest time between two bad spans of one outage, ms. */
export const QUIET_MS = 600_000;
/** Fewer calls neither make an outage nor end one. */
const FEWEST_CALLS = 4;
const LEAST_RATE = 0.3;
/** With this rate, a tool is out, however often its calls usually fail. */
const CERTAIN_RATE = 0.5;
const TIMES_USUAL = 3;
/** The usual rate is computed from the rates of parts of the run with at least this many calls. */
const CALLS_OF_PART = 30;
/** The test for chance assumes at least this usual rate, even for a tool whose calls never failed. */
const RARE_RATE = 0.02;
/** Failures that are less likely than this are not chance. */
const LEAST_CHANCE = 1e-5;

type CallCounts = Pick<SpanCalls, 'calls' | 'failed'>;

const NO_CALLS: CallCounts = { calls: 0, failed: 0 };

const added = (one: CallCounts, other: CallCounts): CallCounts => ({ calls: one.calls + other.calls, failed: one.failed + other.failed });

/** Spans in which too many calls of a tool fail, one after the other. */
interface BadStretch {
  readonly from: string | null;
  /** Start of the newest of the spans, ms since 1970. */
  lastMs: number;
  counts: CallCounts;
  /** Calls since then. */
  since: CallCounts;
}

const hasWorked = ({ since }: BadStretch): boolean => since.calls >= FEWEST_CALLS;

/** `items` are in order of time for each tool. */
export function outagesIn(items: readonly SpanCalls[], everySeconds: number): readonly FoundOutage[] {
  const tools = new Map<string, SpanCalls[]>();
  for (const item of items) {
    const own = tools.get(item.tool);
    if (own === undefined) tools.set(item.tool, [item]);
    else own.push(item);
  }
  return [...tools].flatMap(([tool, spans]) => outagesOf(tool, spans, everySeconds));
}

function outagesOf(tool: string, spans: readonly SpanCalls[], everySeconds: number): readonly FoundOutage[] {
  const usual = usualRate(spans);
  const least = Math.min(CERTAIN_RATE, Math.max(LEAST_RATE, usual * TIMES_USUAL));
  const stretches = badStretches(spans, least, Math.max(everySeconds * 2_000, QUIET_MS));
  const newest = stretches.at(-1);
  return stretches
    .filter(({ counts }) => counts.failed / counts.calls >= least && !isChance(counts, usual))
    .map((stretch) => ({
      ...{ tool, from: stretch.from, to: new Date(stretch.lastMs + everySeconds * 1_000).toISOString() },
      ...{ ...stretch.counts, usual_failure_rate: usual },
      ...(stretch === newest && !hasWorked(stretch) ? { isOpen: true } : {}),
    }));
}

function badStretches(spans: readonly SpanCalls[], leastRate: number, quietMs: number): readonly BadStretch[] {
  const found: BadStretch[] = [];
  for (const { at, calls, failed } of spans) {
    const [before, counts] = [found.at(-1), { calls, failed }];
    if (failed / calls < leastRate) {
      if (before !== undefined) before.since = added(before.since, counts);
      continue;
    }
    const atMs = Date.parse(at ?? '');
    if (before === undefined || hasWorked(before) || atMs - before.lastMs > quietMs) {
      found.push({ from: at, lastMs: atMs, counts, since: NO_CALLS });
    } else {
      Object.assign(before, { lastMs: atMs, counts: added(added(before.counts, before.since), counts), since: NO_CALLS });
    }
  }
  return found;
}

/** The lower quartile, so that an outage hardly raises it. */
function usualRate(spans: readonly SpanCalls[]): number {
  const rates: number[] = [];
  let part = NO_CALLS;
  for (const span of spans) {
    part = added(part, span);
    if (part.calls < CALLS_OF_PART) continue;
    rates.push(part.failed / part.calls);
    part = NO_CALLS;
  }
  if (rates.length === 0 && part.calls > 0) rates.push(part.failed / part.calls);
  const sorted = Float64Array.from(rates).sort();
  return sorted[Math.floor((sorted.length - 1) / 4)] ?? 0;
}

/**
 * Whether calls that fail at the usual rate may fail this often by chance, by the Chernoff bound. What is usual for a tool that fails most
 * of the time is unknown.
 */
function isChance({ calls, failed }: CallCounts, usual: number): boolean {
  const expected = usual < CERTAIN_RATE ? Math.max(usual, RARE_RATE) : RARE_RATE;
  const rate = failed / calls;
  if (calls < FEWEST_CALLS || rate <= expected) return true;
  const ofWorking = rate === 1 ? 0 : (1 - rate) * Math.log((1 - rate) / (1 - expected));
  return calls * (rate * Math.log(rate / expected) + ofWorking) < -Math.log(LEAST_CHANCE);
}
