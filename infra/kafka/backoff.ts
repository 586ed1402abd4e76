import { backoffMs } from '../../streams/core/waiting.ts';

const RANGE = { firstMs: 100, maxMs: 5_000 } as const;

/** With 20 % jitter, so that many clients do not reconnect at once. */
export const reconnectMs = (attempt: number): number => backoffMs(attempt, RANGE) * (0.8 + 0.4 * Math.random());
