import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const HOUR_MS = 3_600_000;
const preload = new URL('./shifted-clock.mjs', import.meta.url).href;

const PROGRAM = `
const { Worker } = require('node:worker_threads');
const read = () => ({ now: Date.now(), made: new Date().getTime(), text: new Date(Date()).getTime(), fixed: new Date(5).getTime(), isDate: new Date() instanceof Date });
const first = read();
new Worker(new URL('data:text/javascript,import { parentPort } from "node:worker_threads"; parentPort.postMessage(Date.now())')).once('message', (thread) => {
  console.log(JSON.stringify({ ...first, thread }));
});`;

function readClock(env: Record<string, string>): Record<string, number | boolean> {
  const out = execFileSync(process.execPath, ['-e', PROGRAM], { env: { ...process.env, NODE_OPTIONS: `--import=${preload}`, ...env } });
  return JSON.parse(out.toString()) as Record<string, number | boolean>;
}

describe('a shifted clock', () => {
  it.each([HOUR_MS, -HOUR_MS])('moves every reading of the wall clock by %i ms, threads included', (shiftMs) => {
    const read = readClock({ SHIFT_CLOCK_MS: String(shiftMs) });
    for (const name of ['now', 'made', 'text', 'thread'])
      expect(Math.abs(Number(read[name]) - Date.now() - shiftMs), name).toBeLessThan(60_000);
    expect(read).toMatchObject({ fixed: 5, isDate: true });
  });

  it('jumps at the configured time, and back', () => {
    const later = readClock({ SHIFT_CLOCK_MS: String(HOUR_MS), SHIFT_CLOCK_AFTER_MS: String(HOUR_MS) });
    const over = readClock({ SHIFT_CLOCK_MS: String(HOUR_MS), SHIFT_CLOCK_BACK_MS: '0' });
    for (const read of [later, over]) expect(Math.abs(Number(read['now']) - Date.now())).toBeLessThan(60_000);
  });

  it('refuses a value that is not a number', () => {
    expect(() => readClock({ SHIFT_CLOCK_MS: 'an hour' })).toThrow();
  });
});
