import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { createStatusChannel, parseStatusMessage, type StatusMessage } from './status.ts';

const live = (figures: Record<string, number> = {}): RoleStatus => ({ state: 'live', detail: '', figures });

function logger() {
  const lines: [string, string][] = [];
  const at = (level: string) => (_fields: Record<string, unknown>, message: string) => {
    lines.push([level, message]);
  };
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } };
}

describe('status channel', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('sends a change of state at once and figures at most every 200 ms, the newest last', () => {
    const sent: StatusMessage[] = [];
    const channel = createStatusChannel({ role: 'trainer', logger: logger().logger, send: (message) => sent.push(message) });
    expect(channel.current().state).toBe('starting');
    channel.report(live({ step: 0 }));
    channel.report(live({ step: 1 }));
    channel.report(live({ step: 2 }));
    expect(sent.map(({ status }) => status.figures['step'])).toEqual([0]);
    vi.advanceTimersByTime(200);
    expect(sent.map(({ status }) => status.figures['step'])).toEqual([0, 2]);
    channel.report({ state: 'waiting', detail: 'Kafka is away', figures: {} });
    expect(sent.at(-1)?.status.state).toBe('waiting');
    vi.advanceTimersByTime(1_000);
    expect(sent).toHaveLength(3);
  });

  it('keeps a figure that a later report leaves out', () => {
    const sent: StatusMessage[] = [];
    const channel = createStatusChannel({ role: 'trainer', logger: logger().logger, send: (message) => sent.push(message) });
    channel.report(live());
    channel.report(live({ step: 3, reward_mean: 0.5 }));
    channel.report(live({ step: 3, lag: 7 }));
    vi.advanceTimersByTime(200);
    expect(sent.at(-1)?.status.figures).toEqual({ step: 3, reward_mean: 0.5, lag: 7 });
  });

  it('logs changes of state only, at a level that fits', () => {
    const { lines, logger: log } = logger();
    const channel = createStatusChannel({ role: 'worker', logger: log, send: undefined });
    channel.report(live({ turns: 1 }));
    channel.report(live({ turns: 2 }));
    channel.report({ state: 'waiting', detail: 'no broker', figures: {} });
    channel.report({ state: 'waiting', detail: 'still no broker', figures: {} });
    channel.report({ state: 'failed', detail: 'gone', figures: {} });
    expect(lines).toEqual([
      ['info', 'live'],
      ['warn', 'waiting: no broker'],
      ['error', 'failed: gone'],
    ]);
  });

  it('does not log a detail again if only its numbers changed', () => {
    const { lines, logger: log } = logger();
    const channel = createStatusChannel({ role: 'trainer', logger: log, send: undefined });
    for (const groups of [64, 65, 66]) channel.report({ ...live(), detail: `48 of the last ${groups} groups were discarded` });
    channel.report({ ...live(), detail: 'records were deleted before they were read' });
    expect(lines.map(([, message]) => message)).toEqual([
      'live: 48 of the last 64 groups were discarded',
      'live: records were deleted before they were read',
    ]);
    expect(channel.current().detail).toBe('records were deleted before they were read');
  });

  it('reads only its own messages', () => {
    const message = { type: 'status', role: 'api', status: live() };
    expect(parseStatusMessage(message)).toEqual(message);
    for (const other of [
      undefined,
      null,
      'status',
      {},
      { type: 'status' },
      { type: 'status', role: 'api', status: {} },
      { type: 'x', role: 'a', status: live() },
    ]) {
      expect(parseStatusMessage(other)).toBeUndefined();
    }
  });
});
