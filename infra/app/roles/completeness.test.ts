import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../testing/logger.ts';
import { recordingMetrics } from '../../testing/api.ts';
import { createSkippedTeller } from '../../kafka/reading/skipped.ts';
import { unready } from '../../telemetry/health.ts';
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import { createCompleteness } from './completeness.ts';

const range = (partition: number, from: number, to: number) => ({ topic: 'rollouts', partition, from, to }) as const;

describe('the health of a role that skipped records', () => {
  it('is incomplete from the first skipped range on, and names what is missing', () => {
    const told: RoleStatus[] = [];
    const { report, onSkipped } = createCompleteness((status) => told.push(status));
    report({ state: 'live', detail: '', figures: { lag: 0 } });
    expect(told.at(-1)?.state).toBe('live');
    onSkipped(range(2, 10, 20));
    onSkipped(range(2, 10, 20));
    expect(told.at(-1)).toEqual({
      state: 'incomplete',
      detail: 'retention had deleted rollouts/2 from offset 10 up to 19 before it was read',
      figures: { lag: 0, skipped_records: 10 },
    });
    report({ state: 'waiting', detail: 'for Kafka', figures: {} });
    expect(told.at(-1)?.state).toBe('waiting');
    for (const partition of [3, 4, 5]) onSkipped(range(partition, 0, 1));
    report({ state: 'live', detail: '', figures: {} });
    const last = told.at(-1)!;
    expect(last).toMatchObject({ state: 'incomplete', figures: { skipped_records: 13 } });
    expect(last.detail).toContain('and 1 more ranges');
    expect(unready({ name: 'trainer', ...last, sinceMs: 0 }, 1)).toContain('trainer works, but records are missing: retention had deleted');
  });

  it('covers the ranges that their reader does not handle itself; each range is logged and counted once', () => {
    const metrics = recordingMetrics();
    const [role, own]: [unknown[], unknown[]] = [[], []];
    const tell = createSkippedTeller({ logger: silentLogger, metrics, onSkipped: (skipped) => role.push(skipped) });
    tell(range(0, 1, 5), (skipped) => own.push(skipped));
    tell(range(0, 1, 5));
    tell(range(0, 5, 6));
    expect([own.length, role.length]).toEqual([1, 2]);
    expect(metrics.counted).toEqual([
      { name: 'kafka_skipped_records_total', labels: { topic: 'rollouts' } },
      { name: 'kafka_skipped_records_total', labels: { topic: 'rollouts' } },
    ]);
  });
});
