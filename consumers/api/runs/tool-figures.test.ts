import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { percentileOf, reportOf, type ToolFigures } from './tool-figures.ts';

const bucketOf = (ms: number): number => (ms <= 0 ? -2_000 : Math.round(Math.log(ms) / Math.log(1.02)));

const figures = (fields: Partial<ToolFigures> = {}): ToolFigures => ({
  ...{ block: 0, since: false, tool: 'search', status: 'ok', error_type: '', calls: 2, cache_hits: 1, truncated_results: 0 },
  ...{ ms_sum: 30, ms_max: 20, ms_buckets: [bucketOf(10), bucketOf(20)], ms_calls: [1, 1], result_chars_sum: 50 },
  ...{ slowest_arguments: '{"q":1}', first_at: '2026-01-01T00:00:00.000000Z', last_at: '2026-01-02T00:00:00.000000Z' },
  ...fields,
});

describe('percentiles of buckets', () => {
  it('are within 1 % of a latency of that rank, however the calls are spread over blocks', () => {
    const latency = fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 1e7, noNaN: true }));
    fc.assert(
      fc.property(
        fc.array(fc.array(latency, { maxLength: 20 }), { minLength: 1, maxLength: 5 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (blocks, level) => {
          const rows = blocks.map((own) => ({ ms_buckets: own.map(bucketOf), ms_calls: own.map(() => 1) }));
          const sorted = blocks.flat().sort((a, b) => a - b);
          const found = percentileOf(rows, level);
          if (sorted.length === 0) {
            expect(found).toBeNull();
            return;
          }
          const wanted = sorted[Math.ceil(level * sorted.length) - 1]!;
          expect(Math.abs(found! - wanted)).toBeLessThanOrEqual(wanted * 0.0101);
        },
      ),
    );
  });
});

describe('the report of tools', () => {
  it('adds blocks up by tool, and failures by their kind', () => {
    const failed = figures({
      status: 'error',
      error_type: 'not_found',
      calls: 1,
      ms_sum: 50,
      ms_max: 50,
      ms_buckets: [bucketOf(50)],
      ms_calls: [1],
    });
    const report = reportOf('r', [figures(), figures({ block: 7 }), failed, figures({ tool: 'access', calls: 1, ms_calls: [1, 0] })], {
      most: 10,
      withChanges: false,
    });
    expect(report.items).toMatchObject([
      { run_id: 'r', tool: 'search', calls: 5, ok: 4, errors: 1, timeouts: 0, failure_rate: 0.2, ms_mean: 22, ms_max: 50, cache_hits: 3 },
      { tool: 'access', calls: 1 },
    ]);
    expect(report.error_types).toEqual([{ tool: 'search', error_type: 'not_found', status: 'error', calls: 1, last_at: failed.last_at }]);
    expect(report).not.toHaveProperty('changes');
  });

  it('reports what changed, without calls of unknown versions', () => {
    const slow = figures({ block: 1, since: true, ms_buckets: [bucketOf(100)], ms_calls: [2], ms_max: 100, slowest_arguments: '{"q":2}' });
    const unknown = figures({ block: -1, calls: 9 });
    const other = figures({ block: 1, since: true, tool: 'access' });
    const { changes } = reportOf('r', [figures(), slow, unknown, other], { most: 10, withChanges: true });
    expect(changes).toMatchObject([
      { tool: 'search', error_type: '', calls_before: 2, calls_since: 2, slowest_arguments_since: '{"q":2}' },
      { tool: 'access', calls_before: 0, calls_since: 2, ms_p50_before: null, slower: null },
    ]);
    expect(changes?.[0]?.slower).toBeCloseTo(5, 0);
  });
});
