import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createAddressWriter } from './address-writer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function start() {
  const written: string[] = [];
  return { written, ...createAddressWriter((href) => void written.push(href)) };
}

it('writes single changes at once', () => {
  const { put, written } = start();
  for (let at = 0; at < 10; at += 1) {
    put(`/${at}`);
    expect(written.at(-1)).toBe(`/${at}`);
  }
});

it('writes few of the changes of a held key, and the last one', () => {
  const { put, written } = start();
  for (let at = 1; at <= 300; at += 1) {
    put(`/${at}`);
    vi.advanceTimersByTime(33);
  }
  expect(written.length).toBeLessThan(100);
  vi.advanceTimersByTime(200);
  expect(written.at(-1)).toBe('/300');
});

it('writes a waiting change early, or forgets it', () => {
  const { put, flush, drop, written } = start();
  const putMany = (of: string): void => {
    for (let at = 1; at <= 50; at += 1) put(`/${of}/${at}`);
  };
  putMany('a');
  expect(written.at(-1)).not.toBe('/a/50');
  flush();
  expect(written.at(-1)).toBe('/a/50');
  putMany('b');
  drop();
  vi.advanceTimersByTime(60_000);
  expect(written.at(-1)).toBe('/a/50');
});
