// The clock of this process.
import type { Clock } from '../../streams/core/ports.ts';
import { pause } from './waiting.ts';

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now(), sleep: pause };
