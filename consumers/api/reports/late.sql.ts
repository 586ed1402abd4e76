import { AFTER_END } from '../../../streams/trainer/liveness.ts';

/** SQL list of the reasons for which an attempt does not count as late. */
export const endedReasons = AFTER_END.map((reason) => `'${reason}'`).join(', ');
