// The flow of a run with any number of trajectories: attempts are aggregated into spans of equal length and counted by their fate.
import type { Store } from '../../../streams/core/ports.ts';
import { NO_VERSION, readFlowSeconds, type FlowSecond } from './flow-merged.fold.ts';
import { widthFor } from './width.ts';

const mergedFates = ['trained', 'collected', 'discarded', 'lost', 'open'] as const;
/** Per span: attempts that started in it by fate, attempts in flight at its end, and the worst staleness of its trained ones. */
export const mergedFigures = [...mergedFates, 'running', 'staleness_max', 'version_first'] as const;

export interface MergedSpan {
  readonly span: number;
  readonly trained: number;
  readonly collected: number;
  readonly discarded: number;
  readonly lost: number;
  readonly began: number;
  readonly ended: number;
  readonly staleness_max: number;
  readonly oldest: number;
}

export interface MergedFlow {
  readonly run_id: string;
  readonly trajectories: number;
  readonly every_s: number;
  /** Start of each span, ms since 1970. */
  readonly at_ms: readonly number[];
  readonly columns: Readonly<Record<(typeof mergedFigures)[number], readonly number[]>>;
}

const emptySpan = { trained: 0, collected: 0, discarded: 0, lost: 0, began: 0, ended: 0, staleness_max: -1, oldest: NO_VERSION };

/** Spans without events are included, so that charts have no gaps. */
export function columnsOfSpans(spans: readonly MergedSpan[]): MergedFlow['columns'] {
  const count = (spans.at(-1)?.span ?? -1) + 1;
  const columns = Object.fromEntries(mergedFigures.map((name) => [name, new Array<number>(count).fill(0)])) as Record<
    (typeof mergedFigures)[number],
    number[]
  >;
  const bySpan = new Map(spans.map((one) => [one.span, one]));
  let running = 0;
  for (let at = 0; at < count; at += 1) {
    const span = bySpan.get(at) ?? { ...emptySpan, span: at };
    running += span.began - span.ended;
    const open = span.began - span.trained - span.collected - span.discarded - span.lost;
    const version_first = span.oldest === NO_VERSION ? -1 : span.oldest;
    const row: Readonly<Record<string, number>> = { ...span, open, running, version_first };
    for (const name of mergedFigures) columns[name][at] = row[name] ?? 0;
  }
  return columns;
}

interface FlowBounds {
  readonly first: number;
  readonly every: number;
  readonly last: number;
}

/** Sums of the seconds of each span. An end after the last start or finish, as of a lost attempt, is in the last span. */
function spansOf(seconds: readonly Readonly<FlowSecond>[], { first, every, last }: FlowBounds): readonly MergedSpan[] {
  const spans = new Map<number, MergedSpan>();
  for (const { second, ...one } of seconds) {
    const span = Math.min(Math.trunc((second - first) / every), last);
    const { trained, collected, discarded, lost, began, ended, staleness_max, oldest } = spans.get(span) ?? emptySpan;
    spans.set(span, {
      ...{ span, trained: trained + one.trained, collected: collected + one.collected, discarded: discarded + one.discarded },
      ...{ lost: lost + one.lost, began: began + one.began, ended: ended + one.ended },
      ...{ staleness_max: Math.max(staleness_max, one.staleness_max), oldest: Math.min(oldest, one.oldest) },
    });
  }
  return [...spans.values()].sort((a, b) => a.span - b.span);
}

export async function readMergedFlow(
  store: Store,
  run: string,
  { points, purpose = '' }: { readonly points: number; readonly purpose?: string | undefined },
): Promise<MergedFlow> {
  const seconds = await readFlowSeconds(store, run, purpose);
  const begun = seconds.filter(({ began }) => began > 0);
  const trajectories = begun.reduce((sum, { began }) => sum + began, 0);
  const first = begun.reduce((least, { second }) => Math.min(least, second), Infinity);
  const last = begun.reduce((most, one) => Math.max(most, one.last), -Infinity);
  const every = trajectories === 0 ? 1 : widthFor(Math.max(1, last - first), points);
  const spans = trajectories === 0 ? [] : spansOf(seconds, { first, every, last: Math.floor((last - first) / every) });
  const columns = columnsOfSpans(spans);
  return { run_id: run, trajectories, every_s: every, at_ms: columns.trained.map((_, at) => (first + at * every) * 1_000), columns };
}
