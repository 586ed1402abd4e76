import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createReloads } from './reload-after.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function start() {
  const reloaded: string[] = [];
  const add = createReloads((...addresses) => void reloaded.push(addresses.join(' ')));
  return { add, reloaded };
}

it('reloads what an event concerns, and again when the tables may have stored it', () => {
  const { add, reloaded } = start();
  add(['/a', '/b']);
  add(['/a']);
  expect(reloaded).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(reloaded).toEqual(['/a /b']);
  vi.advanceTimersByTime(4_000);
  expect(reloaded).toEqual(['/a /b', '/a /b']);
  vi.advanceTimersByTime(15_000);
  expect(reloaded).toEqual(['/a /b', '/a /b', '/a /b']);
  vi.advanceTimersByTime(600_000);
  expect(reloaded).toHaveLength(3);
});

it('reloads at most once a second while events come, and everything after the last one', () => {
  const { add, reloaded } = start();
  for (let at = 0; at < 100; at += 1) {
    add([at % 2 === 0 ? '/a' : '/b']);
    vi.advanceTimersByTime(100);
  }
  expect(reloaded.length).toBeLessThanOrEqual(10);
  reloaded.length = 0;
  vi.advanceTimersByTime(60_000);
  expect(reloaded.slice(-2)).toEqual(['/a /b', '/a /b']);
});

it('does nothing for an event that concerns no address', () => {
  const { add, reloaded } = start();
  add([]);
  vi.advanceTimersByTime(60_000);
  expect(reloaded).toEqual([]);
});
