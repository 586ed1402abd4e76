import type { Clock } from '../../streams/core/ports.ts';

/** A clock of one time, which a test sets. */
export const clockOf = (now: () => number): Clock => ({ now, monotonic: now });
