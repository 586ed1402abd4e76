// The calls of tools, kept up to date as counts by how they ended and how long they took. Percentiles come from buckets of 2 %.
import { groupBy } from '../../../streams/core/group-by.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { byText } from '../by-text.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import { foldedRun, type FoldSpec } from '../run-fold.ts';
import { percentileOf } from './tool-figures.ts';
import type { slowCallColumns, toolErrorTypeColumns } from './tool.columns.ts';
import { callCountsSql, limits, slowOfToolsSql } from './tool.sql.ts';

type SlowCall = RowOf<typeof slowCallColumns>;

interface CallCount {
  readonly tool: string;
  readonly status: string;
  readonly error_type: string;
  readonly is_timed: boolean | number;
  readonly span: number;
  readonly bucket: number;
  readonly calls: number;
  readonly cache_hits: number;
  readonly ms_max: number;
  readonly last_at: string;
}

export interface FoldedTool {
  readonly calls: number;
  readonly failed: number;
  readonly cache_hits: number;
  readonly ms_p50: number | null;
  readonly ms_p95: number | null;
  readonly ms_p99: number | null;
  readonly ms_max: number | null;
  readonly spans: readonly { readonly span: number; readonly calls: number; readonly failed: number }[];
  readonly errors: readonly RowOf<typeof toolErrorTypeColumns>[];
  readonly slowest: readonly SlowCall[];
}

const slowestFirst = (a: SlowCall, b: SlowCall): number =>
  (b.ms ?? 0) - (a.ms ?? 0) || byText(a.trajectory_id, b.trajectory_id) || a.attempt - b.attempt || a.turn - b.turn;
const placeOf = ({ trajectory_id, attempt, turn }: SlowCall): string => `${trajectory_id}/${attempt}/${turn}`;

/** A call that the log holds twice is listed only once. */
function slowestOf(calls: readonly SlowCall[]): readonly SlowCall[] {
  const once = new Map(calls.map((call) => [placeOf(call), call]));
  return [...once.values()].sort(slowestFirst).slice(0, limits.slow);
}

function addCalls(known: Map<string, CallCount>, row: CallCount): void {
  const key = JSON.stringify([row.status, row.error_type, Boolean(row.is_timed), row.span, row.bucket]);
  const before = known.get(key) ?? { ...row, calls: 0, cache_hits: 0 };
  known.set(key, {
    ...{ ...row, calls: before.calls + row.calls, cache_hits: before.cache_hits + row.cache_hits },
    ...{ ms_max: Math.max(before.ms_max, row.ms_max), last_at: before.last_at > row.last_at ? before.last_at : row.last_at },
  });
}

interface ToolCalls {
  readonly counts: Map<string, CallCount>;
  slowest: readonly SlowCall[];
}

/** The calls of every tool, so that the run is read once for all of them. */
async function readCalls(store: Store, run: string, tool: string): Promise<ToolCalls> {
  const spec: FoldSpec<Map<string, ToolCalls>> = {
    ...{ name: 'calls of tools', run, tables: ['turns'], empty: () => new Map() },
    add: async (state, { added, params }) => {
      const [counts, slow] = await Promise.all([
        readRows<CallCount>(store, callCountsSql(added('turns')), params),
        readRows<SlowCall & { readonly tool: string }>(store, slowOfToolsSql(added('turns')), params),
      ]);
      for (const row of counts) {
        const known = state.get(row.tool) ?? noCalls();
        state.set(row.tool, known);
        addCalls(known.counts, row);
      }
      for (const [name, own] of groupBy(slow, (row) => row.tool)) {
        const known = state.get(name);
        if (known !== undefined) known.slowest = slowestOf([...known.slowest, ...own.map(({ tool: _tool, ...call }) => call)]);
      }
      return true;
    },
  };
  return (await foldedRun(store, spec)).get(tool) ?? noCalls();
}

const noCalls = (): ToolCalls => ({ counts: new Map(), slowest: [] });

const callsOf = (counts: readonly CallCount[]): number => counts.reduce((sum, { calls }) => sum + calls, 0);
const failedOf = (counts: readonly CallCount[]): readonly CallCount[] => counts.filter(({ status }) => status !== 'ok');

const timed = (counts: readonly CallCount[]): readonly CallCount[] => counts.filter(({ is_timed }) => Boolean(is_timed));

const levelOf = (counts: readonly CallCount[], level: number): number | null =>
  percentileOf(
    timed(counts).map(({ bucket, calls }) => ({ ms_buckets: [bucket], ms_calls: [calls] })),
    level,
  );

function errorsOf(counts: readonly CallCount[]): FoldedTool['errors'] {
  const groups = groupBy(failedOf(counts), ({ status, error_type }) => JSON.stringify([status, error_type]));
  return [...groups.values()]
    .map((own) => {
      const { status = '', error_type = '' } = own[0] ?? {};
      const last_at = own.map((one) => one.last_at).reduce((a, b) => (a > b ? a : b));
      return { status, error_type, calls: callsOf(own), ms_p50: levelOf(own, 0.5), last_at };
    })
    .sort((a, b) => b.calls - a.calls || byText(a.status, b.status) || byText(a.error_type, b.error_type))
    .slice(0, limits.errors);
}

/** The calls of a tool; a call that the log holds twice is counted twice, as in the list. */
export async function readFoldedTool(store: Store, run: string, tool: string): Promise<FoldedTool> {
  const calls = await readCalls(store, run, tool);
  const [counts, { slowest }] = [[...calls.counts.values()], calls];
  const spans = [...groupBy(timed(counts), ({ span }) => span)].map(([span, own]) => ({
    ...{ span, calls: callsOf(own), failed: callsOf(failedOf(own)) },
  }));
  return {
    ...{ calls: callsOf(counts), failed: callsOf(failedOf(counts)), cache_hits: counts.reduce((sum, one) => sum + one.cache_hits, 0) },
    ...{ ms_p50: levelOf(counts, 0.5), ms_p95: levelOf(counts, 0.95), ms_p99: levelOf(counts, 0.99) },
    ms_max: timed(counts).reduce<number | null>((most, { ms_max }) => Math.max(most ?? 0, ms_max), counts.length === 0 ? 0 : null),
    ...{ spans: spans.sort((a, b) => a.span - b.span), errors: errorsOf(counts), slowest },
  };
}
