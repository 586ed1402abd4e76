// The clocks of this process.
import type { Clock } from '../../streams/core/ports.ts';

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
