// Waiting out an outage with everything that a role has: the work is begun anew, with growing pauses, until it is not an
// outage that ends it. For work that takes all it needs from the log whenever it begins.
import { errorCodes, isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { ReportStatus } from '../../../streams/core/telemetry.ts';
import { createBackoff } from '../../../streams/core/waiting.ts';
import { pause } from '../../lifecycle/backoff.ts';

export interface OutageOptions {
  readonly report: ReportStatus;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
}

const isOutage = (error: unknown): boolean => isPlatformError(error) && errorCodes[error.code].outage === true;

/** Asked anew after each wait, which the compiler cannot know. */
const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** Runs `work` until it ends by itself; undefined when the signal aborts during a wait. `work` reports through what it is given. */
export async function throughOutages<T>(options: OutageOptions, work: (report: ReportStatus) => Promise<T>): Promise<T | undefined> {
  const { logger, signal } = options;
  const backoff = createBackoff(options.backoff ?? { firstMs: 200, maxMs: 5_000 });
  let trouble = '';
  const report: ReportStatus = (status) => {
    // begun anew is still waiting until it gets further than its start
    if (status.state === 'starting' && trouble !== '') {
      options.report({ ...status, state: 'waiting', detail: trouble });
      return;
    }
    if (trouble !== '' && (status.state === 'live' || status.state === 'catching_up')) {
      logger.info({}, 'going on after an outage');
      trouble = '';
      backoff.reset();
    }
    options.report(status);
  };
  for (;;) {
    try {
      return await work(report);
    } catch (error) {
      if (signal.aborted || !isOutage(error)) throw error;
      if (trouble === '') logger.warn({ reason: messageOf(error) }, 'waiting out an outage');
      trouble = messageOf(error);
      options.report({ state: 'waiting', detail: trouble, figures: {} });
    }
    await pause(backoff.next(), signal);
    if (isOver(signal)) return undefined;
  }
}
