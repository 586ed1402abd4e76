// Sends the status of a role to its supervisor, over the IPC channel if there is one, and logs state changes. A change of state is sent at
// once; reports that only change numbers are sent at most every 200 ms, the newest last. A number that a report omits keeps its value.
import type { Logger } from '../../streams/core/ports.ts';
import type { ReportStatus, RoleStatus } from '../../streams/core/telemetry.ts';

/** What a role process sends to its supervisor. */
export interface StatusMessage {
  readonly type: 'status';
  readonly role: string;
  readonly status: RoleStatus;
}

export interface StatusChannel {
  readonly report: ReportStatus;
  /** The newest report; `starting` before the first one. */
  current(): RoleStatus;
  /** When the role entered its current state, ms since the epoch. */
  sinceMs(): number;
}

const THROTTLE_MS = 200;

const fresh: RoleStatus = { state: 'starting', detail: '', figures: {} };

/** `send` is the IPC channel, or undefined without a supervisor. */
export function createStatusChannel(options: {
  readonly role: string;
  readonly logger: Logger;
  readonly send: ((message: StatusMessage) => void) | undefined;
}): StatusChannel {
  const { role, logger, send } = options;
  let current = fresh;
  let sinceMs = Date.now();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    send?.({ type: 'status', role, status: current });
  };
  return {
    current: () => current,
    sinceMs: () => sinceMs,
    report(status) {
      const changed = status.state !== current.state || wordsOf(status.detail) !== wordsOf(current.detail);
      // an outage has a new reason with every attempt; reporting the first is enough
      const news = changed && !(status.state === 'waiting' && current.state === 'waiting');
      if (status.state !== current.state) sinceMs = Date.now();
      current = { ...status, figures: { ...current.figures, ...status.figures } };
      if (news) logStatus(logger, status);
      if (changed) {
        clearTimeout(timer);
        flush();
      } else {
        timer ??= setTimeout(flush, THROTTLE_MS).unref();
      }
    },
  };
}

/** Changed numbers in a detail, such as "48 of the last 66 groups", do not count as a change. */
const wordsOf = (detail: string): string => detail.replaceAll(/\d+/g, '');

function logStatus(logger: Logger, status: RoleStatus): void {
  const fields = { state: status.state, ...status.figures };
  const message = status.detail === '' ? status.state : `${status.state}: ${status.detail}`;
  if (status.state === 'failed') logger.error(fields, message);
  else if (status.state === 'waiting') logger.warn(fields, message);
  else logger.info(fields, message);
}

/** Parses a status message of a child; undefined for anything else. */
export function parseStatusMessage(message: unknown): StatusMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const candidate = message as Partial<StatusMessage>;
  const status: Partial<RoleStatus> | undefined = candidate.status;
  const fits =
    candidate.type === 'status' &&
    typeof candidate.role === 'string' &&
    typeof status?.state === 'string' &&
    typeof status.figures === 'object';
  return fits ? (message as StatusMessage) : undefined;
}
