import { describe, expect, it } from 'vitest';
import { namesNobodyUses } from '../testing/source-text.ts';
import { metricTable } from '../../streams/core/telemetry.ts';
import { createMetrics } from './metrics.ts';

describe('metrics', () => {
  it('are all recorded somewhere', () => {
    expect(namesNobodyUses(Object.keys(metricTable))).toEqual([]);
  });

  it('counts, sets and observes under the names of the table, labeled with the role', async () => {
    const metrics = createMetrics('worker-1');
    metrics.count('worker_turns_total', { tool: 'search', status: 'ok' }, 3);
    metrics.count('worker_turns_total', { tool: 'search', status: 'ok' });
    metrics.set('worker_running', {}, 7);
    metrics.observe('worker_tool_seconds', { tool: 'access', status: 'ok' }, 0.02);
    const text = await metrics.text();
    expect(text).toContain('turnstream_worker_turns_total{tool="search",status="ok",role="worker-1"} 4');
    expect(text).toContain('turnstream_worker_running{role="worker-1"} 7');
    expect(text).toContain('turnstream_worker_tool_seconds_count{role="worker-1",tool="access",status="ok"} 1');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(metrics.contentType).toContain('text/plain');
  });

  it('declares the metrics of its own area from the start, and every other at its first use', async () => {
    const metrics = createMetrics('warehouse');
    const before = await metrics.text();
    for (const [name, { help }] of Object.entries(metricTable)) {
      if (name.startsWith('sink_')) expect(before).toContain(`# HELP turnstream_${name} ${help}`);
      else expect(before).not.toContain(`turnstream_${name}`);
    }
    metrics.count('kafka_producer_recreated_total', {});
    expect(await metrics.text()).toContain('turnstream_kafka_producer_recreated_total{role="warehouse"} 1');
  });

  it('distinguishes the runs of several trainers', async () => {
    const [first, second] = ['run-a', 'run-b'].map((run) => createMetrics('trainer', run));
    first?.set('trainer_reward_mean', {}, 0.25);
    second?.set('trainer_reward_mean', {}, 0.75);
    const text = await createMetrics('api').text([(await first?.snapshot()) ?? [], (await second?.snapshot()) ?? []]);
    expect(text).toContain('turnstream_trainer_reward_mean{role="trainer",run="run-a"} 0.25');
    expect(text).toContain('turnstream_trainer_reward_mean{role="trainer",run="run-b"} 0.75');
  });

  it('merges the snapshots of other processes without adding up different roles', async () => {
    const trainer = createMetrics('trainer');
    trainer.count('trainer_steps_total', {}, 5);
    trainer.observe('trainer_update_seconds', {}, 0.5);
    const snapshot: unknown = JSON.parse(JSON.stringify(await trainer.snapshot()));
    const api = createMetrics('api');
    api.count('api_requests_total', { route: '/v1/runs', status: '200' });
    const text = await api.text([snapshot as object[]]);
    expect(text).toContain('turnstream_trainer_steps_total{role="trainer"} 5');
    expect(text).toContain('turnstream_trainer_update_seconds_count{role="trainer"} 1');
    expect(text).toContain('role="api"} 1');
    expect(text.match(/# TYPE turnstream_trainer_steps_total/g)).toHaveLength(1);
  });
});
