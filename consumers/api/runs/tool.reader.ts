// One tool of a run: how its latencies are distributed, how its calls failed, and the slowest of them. For a small run they are computed
// from its turns. Those of a large run are kept up to date; their percentiles are accurate to 1 %.
import type { Store } from '../../../streams/core/ports.ts';
import type { RowOf } from '../columns.ts';
import { readRows } from '../list.ts';
import type { latencyColumns, slowCallColumns, toolErrorTypeColumns } from './tool.columns.ts';
import { readFoldedTool, type FoldedTool } from './tool.fold.ts';
import { edgeOf, errorSql, latencySql, slowSql, totalSql } from './tool.sql.ts';

export interface OneTool {
  readonly run_id: string;
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  readonly cache_hits: number;
  readonly ms_p50: number | null;
  readonly ms_p95: number | null;
  readonly ms_p99: number | null;
  readonly ms_max: number | null;
  readonly latencies: readonly RowOf<typeof latencyColumns>[];
  readonly error_types: readonly RowOf<typeof toolErrorTypeColumns>[];
  readonly slowest: readonly RowOf<typeof slowCallColumns>[];
}

/** Number of turns from which on the figures of a run are kept up to date. */
const TURNS_OF_LARGE_RUN = 200_000;

const OF_RUN = 'turns where run_id = {run:String}';

interface AskedTool {
  readonly run: string;
  readonly tool: string;
  readonly leastTurns?: number;
}

export async function readTool(store: Store, { run, tool, leastTurns = TURNS_OF_LARGE_RUN }: AskedTool): Promise<OneTool> {
  const [counted] = await readRows<{ turns: number }>(store, `select count() as turns from ${OF_RUN}`, { run });
  const isLarge = (counted?.turns ?? 0) >= leastTurns;
  const { spans, errors, ...figures } = await (isLarge ? readFoldedTool(store, run, tool) : readSmall(store, run, tool));
  const latencies = spans.map(({ span, ...counts }) => ({ from_ms: edgeOf(span), to_ms: edgeOf(span + 1), ...counts }));
  return { run_id: run, tool, ...figures, latencies, error_types: errors };
}

async function readSmall(store: Store, run: string, tool: string): Promise<FoldedTool> {
  const params = { run, tool };
  const [[total], spans, errors, slowest] = await Promise.all([
    readRows<Omit<FoldedTool, 'spans' | 'errors' | 'slowest'>>(store, totalSql(OF_RUN), params),
    readRows<FoldedTool['spans'][number]>(store, latencySql(OF_RUN), params),
    readRows<FoldedTool['errors'][number]>(store, errorSql(OF_RUN), params),
    readRows<FoldedTool['slowest'][number]>(store, slowSql(OF_RUN), params),
  ]);
  const none = { calls: 0, failed: 0, cache_hits: 0, ms_p50: null, ms_p95: null, ms_p99: null, ms_max: null };
  return { ...none, ...total, spans, errors, slowest };
}
