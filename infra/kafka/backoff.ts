/** Delays that double from 100 ms to 5 s, with 20 % jitter so that many clients do not reconnect at once. */
export const backoffMs = (attempt: number): number => Math.min(5_000, 100 * 2 ** Math.min(attempt, 10)) * (0.8 + 0.4 * Math.random());
