// Preload that gives a process a wrong wall clock: `NODE_OPTIONS=--import=<this file>`. Timers and performance.now() are unchanged, as on a
// machine whose clock is wrong. Worker threads and child processes inherit it.
//
// - SHIFT_CLOCK_MS: how far Date is ahead (positive) or behind (negative), ms
// - SHIFT_CLOCK_AFTER_MS: the clock is right at first and jumps this long after the start of the thread; default: 0
// - SHIFT_CLOCK_BACK_MS: the clock jumps back to the right time this long after the start; default: never
//
// Plain JavaScript, because it also runs in processes without TypeScript.
import { replaceDate } from './replace-date.mjs';

const milliseconds = (name, otherwise) => {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${name}=${text} is not a number of milliseconds`);
  return value;
};

const shiftMs = milliseconds('SHIFT_CLOCK_MS', 0);
const afterMs = milliseconds('SHIFT_CLOCK_AFTER_MS', 0);
const backMs = milliseconds('SHIFT_CLOCK_BACK_MS', Infinity);

if (shiftMs !== 0) {
  replaceDate((trueMs) => {
    const upMs = performance.now();
    return trueMs + (upMs >= afterMs && upMs < backMs ? shiftMs : 0);
  });
}
