import { afterEach, expect, it, vi } from 'vitest';
import { membershipOf } from './heartbeats.ts';

const HOUR_MS = 3_600_000;

/** Like the group in kafkajs. */
class Membership {
  declare lastRequest: number;
  constructor() {
    this.lastRequest = Date.now();
  }
}

afterEach(() => {
  vi.useRealTimers();
});

it.each([-HOUR_MS, 0, HOUR_MS])('a heartbeat is due after its interval when the clock is moved by %i ms', (byMs) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const isDue = (): boolean => Date.now() >= member.lastRequest + 3_000;
  const member = new (membershipOf(Membership))();
  vi.advanceTimersByTime(2_000);
  vi.setSystemTime(Date.now() + byMs);
  expect(isDue()).toBe(false);
  vi.advanceTimersByTime(1_500);
  expect(isDue()).toBe(true);
  member.lastRequest = Date.now();
  expect(isDue()).toBe(false);
});
