// Translates errors of kafkajs to ours. kafkajs nests causes; the name that the protocol gives an error is found at any depth.
import { messageOf, PlatformError, type ErrorCode } from '../../streams/core/errors.ts';

const FENCED_GROUP = new Set(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'FENCED_INSTANCE_ID']);
const FENCED_PRODUCER = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED', 'INVALID_PRODUCER_ID_MAPPING']);
const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);
const NO_COORDINATOR = new Set(['GROUP_LOAD_IN_PROGRESS', 'GROUP_COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR_FOR_GROUP']);
const REFUSED = new Set([
  'SASL_AUTHENTICATION_FAILED',
  'ILLEGAL_SASL_STATE',
  'UNSUPPORTED_SASL_MECHANISM',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'INVALID_TOPIC_EXCEPTION',
]);

function* chainOf(error: unknown): Generator<Error> {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 8; depth += 1) {
    yield current;
    current = current.cause;
  }
}

/** The protocol's name of the error, e.g. ILLEGAL_GENERATION; undefined when no broker sent it. */
export function protocolType(error: unknown): string | undefined {
  for (const link of chainOf(error)) if ('type' in link && typeof link.type === 'string') return link.type;
  return undefined;
}

const isOneOf = (types: ReadonlySet<string>, error: unknown): boolean => {
  const type = protocolType(error);
  return type !== undefined && types.has(type);
};

export const isGroupFence = (error: unknown): boolean => isOneOf(FENCED_GROUP, error);
export const isProducerFence = (error: unknown): boolean => isOneOf(FENCED_PRODUCER, error);
/** For a moment after a start or the loss of a broker, a group has no coordinator. */
export const isWithoutCoordinator = (error: unknown): boolean => isOneOf(NO_COORDINATOR, error);
export const isTooLarge = (error: unknown): boolean => isOneOf(TOO_LARGE, error);

const isRefusal = (error: unknown): boolean =>
  isOneOf(REFUSED, error) || [...chainOf(error)].some((link) => link.name === 'KafkaJSSASLAuthenticationError');

/** A retry cannot help. */
export const isFinal = (error: unknown): boolean => isTooLarge(error) || isRefusal(error);

function codeOf(error: unknown): ErrorCode {
  if (isTooLarge(error)) return 'RECORD_TOO_LARGE';
  if (isRefusal(error)) return 'CONFIG_INVALID';
  return 'KAFKA_UNAVAILABLE';
}

const hints: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: ' Create the topics with `turnstream topics apply`.',
};

/** Wraps an error of the client in ours, with what was being done (gerund first). Our own errors pass unchanged. */
export function kafkaError(doing: string, cause: unknown): PlatformError {
  if (cause instanceof PlatformError) return cause;
  const hint = hints[protocolType(cause) ?? ''] ?? '';
  return new PlatformError(codeOf(cause), `${doing}: ${messageOf(cause)}.${hint}`, { cause });
}
