// Classifies failures of ClickHouse for a role: wait and retry, or stop with a reason.
import { ClickHouseError } from '@clickhouse/client';
import { isPlatformError, messageOf, PlatformError, type ErrorCode } from '../../streams/core/errors.ts';

/** Codes of failures that more space or more time resolves: no offset is committed, and the same data is sent again. */
const full = new Map([
  [241, 'MEMORY_LIMIT_EXCEEDED'],
  [243, 'NOT_ENOUGH_SPACE'],
  [252, 'TOO_MANY_PARTS'],
  [319, 'UNKNOWN_STATUS_OF_INSERT'],
]);

/** Codes of a server that is up but cannot answer now. */
const away = new Map([
  [159, 'TIMEOUT_EXCEEDED'],
  [202, 'TOO_MANY_SIMULTANEOUS_QUERIES'],
  [209, 'SOCKET_TIMEOUT'],
  [210, 'NETWORK_ERROR'],
  [236, 'ABORTED'],
  [242, 'TABLE_IS_READ_ONLY'],
  [279, 'ALL_CONNECTION_TRIES_FAILED'],
  [285, 'TOO_FEW_LIVE_REPLICAS'],
  [286, 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE'],
  [425, 'SYSTEM_ERROR'],
  [439, 'CANNOT_SCHEDULE_TASK'],
  [999, 'KEEPER_EXCEPTION'],
]);

const QUERY_WAS_CANCELLED = 394;

/** Disk errors have general codes; only their text identifies them. */
const noSpace = /No space left on device|Not enough space|Disk quota exceeded|ENOSPC/i;

const transport =
  /ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|socket hang up|Timeout error|aborted|terminated|other side closed/i;

function codeFor(clickhouseCode: number, message: string, writes: boolean): ErrorCode {
  if (full.has(clickhouseCode) || noSpace.test(message)) return 'STORE_FULL';
  // A new owner cancels running inserts; before the insert is repeated, its owner checks that it still owns the work.
  if (clickhouseCode === QUERY_WAS_CANCELLED && writes) return 'STORE_UNAVAILABLE';
  // A read that hit its own time limit would do so again; a write is repeated with its token.
  if (clickhouseCode === 159 && !writes) return 'STORE_REFUSED';
  return away.has(clickhouseCode) ? 'STORE_UNAVAILABLE' : 'STORE_REFUSED';
}

/** `doing` says what was being done, e.g. "inserting 20000 rows into turns". */
export function storeError(doing: string, error: unknown, options: { readonly writes: boolean; readonly where: string }): unknown {
  if (isPlatformError(error)) return error;
  const { writes, where } = options;
  if (error instanceof ClickHouseError) {
    const clickhouseCode = Number(error.code);
    const code = codeFor(clickhouseCode, error.message, writes);
    const message = `${doing}: ClickHouse at ${where} answered ${error.type ?? 'an error'} (${clickhouseCode}): ${error.message.trim()}`;
    return new PlatformError(code, message, { context: { clickhouseCode, clickhouseName: error.type ?? '' }, cause: error });
  }
  if (!isTransport(error)) return error;
  const message = `${doing}: ClickHouse at ${where} did not answer (${messageOf(error) || errorName(error)}). Check that it runs and can be reached`;
  return new PlatformError('STORE_UNAVAILABLE', message, { cause: error });
}

const errorName = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no reason given';

/** Connection errors of Node, also inside an AggregateError, and timeouts of the client. */
function isTransport(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isTransport);
  return transport.test(error.message) || transport.test(errorName(error)) || (error.cause !== undefined && isTransport(error.cause));
}
