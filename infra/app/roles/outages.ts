// Retries a role's whole work after an outage, with exponential backoff, until it ends for another reason. For work that reads all its
// state from the log when it starts.
import { errorCodes, isPlatformError, messageOf } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { ReportStatus } from '../../../streams/core/telemetry.ts';
import { createBackoff } from '../../../streams/core/waiting.ts';
import { pause } from '../../lifecycle/waiting.ts';

export interface OutageOptions {
  readonly report: ReportStatus;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
}

const isOutage = (error: unknown): boolean => isPlatformError(error) && errorCodes[error.code].outage === true;

/** A function, because the compiler does not expect the value to change during a wait. */
const isOver = (signal: AbortSignal): boolean => signal.aborted;

/** Runs `work` until it ends by itself; undefined when the signal aborts during a wait. `work` reports its status through its argument. */
export async function throughOutages<T>(options: OutageOptions, work: (report: ReportStatus) => Promise<T>): Promise<T | undefined> {
  const { logger, signal } = options;
  const backoff = createBackoff(options.backoff ?? { firstMs: 200, maxMs: 5_000 });
  let trouble = '';
  const report: ReportStatus = (status) => {
    // a retry still counts as waiting until it gets past its start
    if (status.state === 'starting' && trouble !== '') {
      options.report({ ...status, state: 'waiting', detail: trouble });
      return;
    }
    if (trouble !== '' && (status.state === 'live' || status.state === 'catching_up')) {
      logger.info({}, 'continuing after an outage');
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
