import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { wireOf } from './wire.ts';

const MINUTE = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A response with this many unsent bytes. */
function response(writableLength: number) {
  const state = { destroyed: false, writableLength };
  return Object.assign(state, {
    write: () => false,
    end: () => undefined,
    on: () => undefined,
    once: () => undefined,
    destroy: () => {
      state.destroyed = true;
    },
  });
}

it('a stream that ended is not cut while its client still reads, however slowly', () => {
  const raw = response(1_000);
  wireOf(raw as never).end();
  for (let minute = 0; minute < 60; minute += 1) {
    vi.advanceTimersByTime(MINUTE);
    if (minute % 4 === 0) raw.writableLength -= 1;
    expect(raw.destroyed).toBe(false);
  }
  vi.advanceTimersByTime(10 * MINUTE);
  expect(raw.destroyed).toBe(true);
});
