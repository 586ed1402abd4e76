import { expect, it } from 'vitest';
import { retryAfterMs } from './try-once.ts';

it.each([
  [null, 0],
  ['3', 3_000],
  ['-3', 0],
  ['0.5', 500],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 50_000],
  ['soon', 0],
])('Retry-After %s', (header, wanted) => {
  expect(retryAfterMs(header, 10_000)).toBe(wanted);
});
