import { describe, expect, it } from 'vitest';
import type { AuditResult } from '../../consumers/warehouse/audit.ts';
import type { RunSummary } from '../app/run-summary.ts';
import { createAuditLines, renderAudit } from './audit-view.ts';
import { renderStatus } from './status-view.ts';
import { renderRuns, renderSummary } from './summary-view.ts';

const scores = { policy_version: 0, questions: 120, avg_f1: 0.1, avg_em: 0.05, reward_mean: 0.1 };
const summary: RunSummary = {
  ...{
    run_id: 'r1',
    state: 'finished',
    seed: 3,
    algorithm: 'grpo',
    steps: 150,
    version: 150,
    trajectories: 9_600,
    tokens: 1_000_000,
    seconds: 200.4,
  },
  ...{ reward_first_20: 0.2, reward_last_20: 0.6 },
  staleness: { mean: 1.25, max: 4, in_flight_mean: 0.25, in_queue_mean: 1, limit: 4 },
  discarded: { stale: 3, uniform_group: 40 },
  expired: {},
  evaluation: { before: scores, after: { ...scores, policy_version: 150, avg_f1: 0.7 } },
};

describe('views', () => {
  it('show the result of a run', () => {
    const text = renderSummary(summary);
    for (const part of [
      '150 steps in 200 s',
      '0.200 over the first 20 steps, 0.600 over the last 20',
      'before   F1 0.100',
      'F1 0.700',
      'worst 4 of 4',
      'stale 3, uniform_group 40',
    ]) {
      expect(text).toContain(part);
    }
    const empty = renderSummary({ ...summary, reward_first_20: null, evaluation: { before: null, after: null }, discarded: {} });
    expect(empty).toContain('not evaluated');
    expect(empty).toContain('discarded       none');
  });

  it('show runs in columns', () => {
    const line = { run_id: 'a-long-name', state: 'finished', started_at: 't', seed: 1, algorithm: 'grpo', steps: 5, reward_last: null };
    const [head, row] = renderRuns([line]).split('\n');
    expect(head?.indexOf('state')).toBe(row?.indexOf('finished'));
    expect(renderRuns([])).toBe('no runs yet\n');
  });

  it('show addresses without passwords', () => {
    const report = {
      kafka: 'a:1',
      registry: null,
      clickhouse: 'http://me:secret@h:8123',
      api: null,
      run: 'r1',
      processes: { trainer: 5 },
      runs: [],
    };
    const text = renderStatus(report);
    expect(text).not.toContain('secret');
    expect(text).toContain('trainer 5');
    expect(renderStatus({ ...report, processes: {} })).not.toContain('processes');
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

  it('show how far an audit is', () => {
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
