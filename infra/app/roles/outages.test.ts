import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { ReportStatus, RoleStatus } from '../../../streams/core/telemetry.ts';
import { createRecordingLogger } from '../../testing/logger.ts';
import { throughOutages } from './outages.ts';

function setup(signal = new AbortController().signal) {
  const reports: RoleStatus[] = [];
  const logger = createRecordingLogger();
  const report: ReportStatus = (status) => {
    reports.push(status);
  };
  const options = { report, logger, signal, backoff: { firstMs: 1, maxMs: 2 } };
  return { options, said: () => reports.map(({ state, detail }) => `${state}:${detail}`), logger };
}

const away = new PlatformError('KAFKA_UNAVAILABLE', 'no broker');

describe('an outage', () => {
  it('is waited out, and reported until the work continues', async () => {
    const { options, said, logger } = setup();
    let begun = 0;
    const end = await throughOutages(options, async (report) => {
      begun += 1;
      report({ state: 'starting', detail: 'reading', figures: {} });
      if (begun < 3) throw away;
      report({ state: 'live', detail: '', figures: {} });
      return 'done';
    });
    expect(end).toBe('done');
    expect(said()).toEqual([
      'starting:reading',
      'waiting:no broker',
      'waiting:no broker',
      'waiting:no broker',
      'waiting:no broker',
      'live:',
    ]);
    expect(logger.lines.map(({ message }) => message)).toEqual(['waiting out an outage', 'continuing after an outage']);
  });

  it('does not include other errors, which reject at once', async () => {
    const fenced = new PlatformError('PRODUCER_FENCED', 'another');
    await expect(throughOutages(setup().options, () => Promise.reject(fenced))).rejects.toBe(fenced);
  });

  it('is waited out only until the role stops', async () => {
    const stopping = new AbortController();
    const { options } = setup(stopping.signal);
    const end = throughOutages({ ...options, backoff: { firstMs: 60_000, maxMs: 60_000 } }, () => Promise.reject(away));
    setImmediate(() => {
      stopping.abort();
    });
    await expect(end).resolves.toBeUndefined();
    await expect(throughOutages(options, () => Promise.reject(away))).rejects.toBe(away);
  });
});
