import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditResult } from '../../consumers/warehouse/audit.ts';
import type { RunSummary } from './status/run-summary.ts';
import type { StatusReport } from './status/status-report.ts';
import { createAuditLines, renderAudit } from './audit/audit-view.ts';
import { renderStatus } from './status/status-view.ts';
import { renderRuns, renderSummary } from './status/summary-view.ts';

const interval = { avg_f1_low: 0.07, avg_f1_high: 0.13 };
const scores = { policy_version: 0, questions: 120, samples: 4, avg_f1: 0.1, avg_em: 0.05, reward_mean: 0.1, ...interval };
const summary: RunSummary = {
  ...{
    run_id: 'r1',
    state: 'finished',
    reason: 'steps_reached',
    detail: 'Made 150 steps.',
    collected: null,
    seed: 3,
    algorithm: 'grpo',
    steps: 150,
    version: 150,
    trajectories: 9_600,
    tokens: 1_000_000,
    generated_tokens: 1_000_000,
    seconds: 200.4,
  },
  ...{ reward_first_20: 0.2, reward_last_20: 0.6, reward_all_first_20: 0.05, reward_all_last_20: 0.7 },
  staleness: { mean: 1.25, max: 4, in_flight_mean: 0.25, in_queue_mean: 1, worst: 4, token_mean: 1.5, limit: 4 },
  rollouts: { train: { attempts: 9_700, counted: 9_650, reward_mean: 0.4, turns_mean: 6, tokens_mean: 100 } },
  discarded: { stale: 3, uniform_group: 40 },
  expired: {},
  evaluation: { before: scores, after: { ...scores, policy_version: 150, avg_f1: 0.7 } },
  heldout: [],
};

describe('views', () => {
  it('show the result of a run', () => {
    const text = renderSummary(summary);
    for (const part of [
      '150 steps in 200 s',
      'all finished   0.050 over the first 20 steps, 0.700 over the last 20',
      'trained on     0.200 over the first 20 steps, 0.600 over the last 20',
      'before   Avg@4 F1 0.100 (0.070 to 0.130)',
      'Avg@4 F1 0.700',
      '1000000 generated tokens',
      'worst 4 of 4',
      'stale 3, uniform_group 40',
      '  Made 150 steps.\n',
    ]) {
      expect(text).toContain(part);
    }
    const empty = renderSummary({ ...summary, reward_first_20: null, evaluation: { before: null, after: null }, discarded: {} });
    expect(empty).toContain('not evaluated');
    const greedy = renderSummary({ ...summary, evaluation: { before: { ...scores, samples: 1 }, after: null } });
    expect(greedy).toContain('before   greedy F1 0.100');
    expect(empty).toContain('discarded       none');
  });

  it('show parts of the staleness that add up to their mean, however they are rounded', () => {
    fc.assert(
      fc.property(fc.nat(4_000), fc.nat(4_000), fc.integer({ min: 1, max: 600 }), (flying, queuing, trajectories) => {
        const [in_flight_mean, in_queue_mean] = [flying / trajectories, queuing / trajectories];
        const mean = (flying + queuing) / trajectories;
        const text = renderSummary({ ...summary, staleness: { ...summary.staleness, mean, in_flight_mean, in_queue_mean } });
        const shown = /mean ([\d.]+) \(in flight ([\d.]+), in queue ([\d.]+)\)/.exec(text)?.slice(1).map(Number) ?? [];
        expect(Math.round(100 * (shown[1]! + shown[2]!))).toBe(Math.round(100 * shown[0]!));
        expect(Math.abs(shown[2]! - in_queue_mean)).toBeLessThan(0.0151);
      }),
    );
    const { staleness } = summary;
    const empty = renderSummary({ ...summary, staleness: { ...staleness, mean: null, in_flight_mean: null, in_queue_mean: null } });
    expect(empty).toContain('staleness       mean –, worst 4 of 4 allowed');
  });

  it('show runs in columns', () => {
    const names = { run_id: 'a-long-name', state: 'finished', started_at: 't', algorithm: 'grpo' };
    const line = { ...names, seed: 1, steps: 5, reward_last: null, attempts: 12 };
    const [head, row] = renderRuns([line]).split('\n');
    expect(head?.indexOf('state')).toBe(row?.indexOf('finished'));
    expect(renderRuns([])).toBe('no runs yet\n');
  });

  it('show addresses without passwords', () => {
    const report: StatusReport = {
      kafka: 'a:1',
      registry: null,
      clickhouse: 'http://me:secret@h:8123',
      api: null,
      api_port_taken: null,
      unanswered: [],
      run: 'r1',
      processes: { trainer: 5 },
      kept: 'everything',
      disk: { bytes: 31e9, free_bytes: 5e9, disk_bytes: 90e9, parts: [{ part: 'log.rollouts', bytes: 31e9 }] },
      runs: [],
      runs_unknown: null,
    };
    const text = renderStatus(report);
    expect(text).not.toContain('secret');
    expect(text).toContain('trainer 5');
    expect(text).toContain('disk        31.0 GB: log 31.0 GB (rollouts 31.0 GB); 5.0 GB free');
    expect(renderStatus({ ...report, disk: null })).not.toContain('disk');
    expect(renderStatus({ ...report, processes: {} })).not.toContain('processes');
  });

  it('show which services do not answer, and why the runs are not known', () => {
    const report: StatusReport = {
      ...{ kafka: 'a:1', registry: 'http://r:8081', clickhouse: 'http://h:8123', api: null, api_port_taken: null },
      unanswered: ['kafka', 'clickhouse'],
      ...{ disk: null, kept: 'everything' },
      ...{ run: null, processes: {}, runs: [], runs_unknown: 'ClickHouse does not answer at its address' },
    };
    const text = renderStatus(report);
    expect(text).toMatch(/^Kafka +a:1 {3}no answer$/m);
    expect(text).toMatch(/^registry +http:\/\/r:8081$/m);
    expect(text).toMatch(/^ClickHouse +http:\/\/h:8123 {3}no answer$/m);
    expect(text).toMatch(/^API +not running$/m);
    expect(text).toContain('the list of runs is not available: ClickHouse does not answer at its address');
    expect(text).not.toContain('no runs yet');
  });

  it('say how to open earlier runs', () => {
    const run = { run_id: 'a', state: 'finished', started_at: 't', seed: 1, algorithm: 'grpo', steps: 5, reward_last: null, attempts: 40 };
    const report: StatusReport = {
      ...{ kafka: null, registry: null, clickhouse: null, api: null, api_port_taken: null },
      ...{ disk: null, kept: 'everything' },
      ...{ unanswered: [], run: null, processes: {}, runs: [run], runs_unknown: null },
    };
    expect(renderStatus(report)).toContain('`turnstream serve` opens them');
    expect(renderStatus({ ...report, api: 'http://h:1' })).not.toContain('serve');
    expect(renderStatus({ ...report, api: 'http://h:1', api_port_taken: 8787 })).toMatch(
      /^API +http:\/\/h:1 \(another program has port 8787\)$/m,
    );
    expect(renderStatus({ ...report, runs: [] })).not.toContain('serve');
  });

  it('show what an audit found', () => {
    const table = {
      topic: 'rollouts',
      partition: 1,
      table: 'turns',
      logRows: 5,
      tableRows: 4,
      logChecksum: 'a',
      tableChecksum: 'b',
      equal: false,
    } as const;
    const result: AuditResult = {
      ok: false,
      complete: true,
      sample: null,
      topics: [table, { ...table, table: 'trajectories', equal: true }],
      differences: [{ kind: 'missing', topic: 'rollouts', partition: 1, offset: 7, table: 'turns', logRows: 1, tableRows: 0, columns: [] }],
      moreDifferences: true,
      records: 10,
      deadLetters: 2,
      lag: [{ topic: 'tasks', partition: 0, records: 3 }],
    };
    const text = renderAudit(result);
    for (const part of [
      'DIFFER rollouts/1',
      'missing in turns: rollouts/1@7',
      'more rows',
      'tasks/0: 3 records',
      'FAILED: 10 records compared, 2 dead letters',
    ]) {
      expect(text).toContain(part);
    }
    expect(renderAudit({ ...result, ok: true, topics: [], differences: [], lag: [], moreDifferences: false })).toBe(
      'ok: 10 records compared, 2 dead letters\n',
    );
    expect(renderAudit({ ...result, complete: false, differences: [] })).toMatch(/stopped: 10 records compared.*\n.*--resume/);
    expect(renderAudit({ ...result, sample: { share: 0.05, seed: 7 } })).toContain('a sample: 5 % of the log, drawn with seed 7');
  });

  it('show the progress of an audit', () => {
    const text = createAuditLines();
    expect(text('waiting', 0)).toContain('waiting until the sink');
    const progress = { topic: 'rollouts', records: 100, of: 10_000, differences: 0 } as const;
    text(progress, 1_000);
    expect(text({ ...progress, records: 200 }, 2_000)).toBe(
      'comparing rollouts: 200 of 10000 records (2 %), 100 records/s, 98 s left, no differences',
    );
    expect(text({ ...progress, records: 210, differences: 3 }, 3_000)).toMatch(/2 min \d+ s left, 3 differences$/);
  });
});
