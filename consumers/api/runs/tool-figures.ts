// Combines the figures of tool calls: from blocks to tools, error types, and a comparison before and since a step.
import { groupBy } from '../../../streams/core/group-by.ts';
import { msOfBucket } from '../../common/tool-figures.ts';
import { byText } from '../by-text.ts';
import type { RowOf } from '../columns.ts';
import type { toolChangeColumns } from '../reports/reports.columns.ts';
import type { toolColumns, toolErrorColumns } from './runs.columns.ts';

export interface ToolReport {
  readonly items: readonly RowOf<typeof toolColumns>[];
  /** Failures by tool and error type, most frequent first. */
  readonly error_types: readonly RowOf<typeof toolErrorColumns>[];
  /** Calls before and since a step. */
  readonly changes?: readonly RowOf<typeof toolChangeColumns>[];
}

/** Calls of one tool, status and error type, in one or more blocks. */
export interface ToolFigures {
  /** -1 for unknown versions. */
  readonly block: number;
  readonly since: number | boolean;
  readonly tool: string;
  readonly status: string;
  readonly error_type: string;
  readonly calls: number;
  readonly cache_hits: number;
  readonly truncated_results: number;
  readonly ms_sum: number;
  readonly ms_max: number;
  readonly ms_buckets: readonly number[];
  readonly ms_calls: readonly number[];
  readonly result_chars_sum: number;
  readonly slowest_arguments: string;
  readonly first_at: string;
  readonly last_at: string;
}

const sum = (rows: readonly ToolFigures[], of: (row: ToolFigures) => number): number => rows.reduce((total, row) => total + of(row), 0);

/** Times are RFC 3339 in UTC with a fixed length, so they sort as text. */
const least = (texts: readonly string[]): string => texts.reduce((a, b) => (a < b ? a : b));
const latest = (texts: readonly string[]): string => texts.reduce((a, b) => (a > b ? a : b));

/** Latency percentile at `level`, ms; null without calls. */
export function percentileOf(rows: readonly Pick<ToolFigures, 'ms_buckets' | 'ms_calls'>[], level: number): number | null {
  const counts = new Map<number, number>();
  for (const { ms_buckets, ms_calls } of rows) {
    ms_buckets.forEach((bucket, at) => counts.set(bucket, (counts.get(bucket) ?? 0) + (ms_calls[at] ?? 0)));
  }
  const calls = [...counts.values()].reduce((total, count) => total + count, 0);
  let below = 0;
  for (const [bucket, count] of [...counts].sort(([a], [b]) => a - b)) {
    below += count;
    if (below >= level * calls) return msOfBucket(bucket);
  }
  return null;
}

type ToolRow = ToolReport['items'][number];
type ToolErrorRow = ToolReport['error_types'][number];
type ToolChange = NonNullable<ToolReport['changes']>[number];

/** The report of a run: tools and failures by number of calls, changes by slowdown. */
export function reportOf(
  run: string,
  rows: readonly ToolFigures[],
  { most, withChanges }: { readonly most: number; readonly withChanges: boolean },
): ToolReport {
  const failures = rows.filter(({ status }) => status !== 'ok');
  const errors = [...groupBy(failures, ({ tool, error_type, status }) => JSON.stringify([tool, error_type, status])).values()].map(errorOf);
  return {
    items: [...groupBy(rows, ({ tool }) => tool).values()]
      .map((own) => toolOf(run, own))
      .sort((a, b) => b.calls - a.calls || byText(a.tool, b.tool)),
    error_types: errors
      .sort((a, b) => b.calls - a.calls || byText(a.tool, b.tool) || byText(a.error_type, b.error_type) || byText(a.status, b.status))
      .slice(0, most),
    ...(withChanges ? { changes: changesOf(rows) } : {}),
  };
}

function toolOf(run: string, rows: readonly ToolFigures[]): ToolRow {
  const calls = sum(rows, (row) => row.calls);
  const of = (status: string): number =>
    sum(
      rows.filter((row) => row.status === status),
      (row) => row.calls,
    );
  return {
    ...{ run_id: run, tool: rows[0]?.tool ?? '', calls },
    ...{ ok: of('ok'), errors: of('error'), timeouts: of('timeout'), refused: of('refused'), failure_rate: (calls - of('ok')) / calls },
    cache_hits: sum(rows, (row) => row.cache_hits),
    truncated_results: sum(rows, (row) => row.truncated_results),
    ms_mean: sum(rows, (row) => row.ms_sum) / calls,
    ...{ ms_p50: percentileOf(rows, 0.5), ms_p95: percentileOf(rows, 0.95), ms_p99: percentileOf(rows, 0.99) },
    ms_max: Math.max(...rows.map((row) => row.ms_max)),
    result_chars_mean: sum(rows, (row) => row.result_chars_sum) / calls,
    ...{ first_at: least(rows.map((row) => row.first_at)), last_at: latest(rows.map((row) => row.last_at)) },
  };
}

function errorOf(rows: readonly ToolFigures[]): ToolErrorRow {
  const { tool = '', error_type = '', status = '' } = rows[0] ?? {};
  return { tool, error_type, status, calls: sum(rows, (row) => row.calls), last_at: latest(rows.map((row) => row.last_at)) };
}

/** By tool and error type, empty for successful calls; largest slowdown first. Calls of unknown versions are on neither side. */
function changesOf(rows: readonly ToolFigures[]): readonly ToolChange[] {
  const ranged = rows.filter(({ block }) => block >= 0);
  return [...groupBy(ranged, ({ tool, error_type }) => JSON.stringify([tool, error_type])).values()]
    .map(changeOf)
    .sort((a, b) => (b.slower ?? -Infinity) - (a.slower ?? -Infinity) || byText(a.tool, b.tool) || byText(a.error_type, b.error_type));
}

function changeOf(rows: readonly ToolFigures[]): ToolChange {
  const { tool = '', error_type = '' } = rows[0] ?? {};
  const before = rows.filter(({ since }) => !since);
  const later = rows.filter(({ since }) => since);
  const [p95Before, p95Since] = [percentileOf(before, 0.95), percentileOf(later, 0.95)];
  const slowest = later.reduce<ToolFigures | undefined>((a, b) => (a === undefined || b.ms_max > a.ms_max ? b : a), undefined);
  return {
    ...{ tool, error_type, calls_before: sum(before, (row) => row.calls), calls_since: sum(later, (row) => row.calls) },
    ...{ ms_p50_before: percentileOf(before, 0.5), ms_p50_since: percentileOf(later, 0.5) },
    ...{ ms_p95_before: p95Before, ms_p95_since: p95Since },
    slower: p95Since === null || p95Before === null || p95Before === 0 ? null : p95Since / p95Before,
    slowest_arguments_since: slowest?.slowest_arguments ?? '',
  };
}
