// One admin client per connection: connected on first use, replaced after a failure.
import type { Admin, Kafka } from 'kafkajs';
import { PlatformError } from '../../../streams/core/errors.ts';
import { pause, settledWithin } from '../../lifecycle/waiting.ts';
import { isFinal, isWithoutCoordinator, kafkaError, protocolType } from '../kafka-error.ts';

/** Number of retries while the cluster is not ready, with a delay that grows by 100 ms each time: 4.5 s in all. */
const SETTLING_TRIES = 9;

export interface SharedAdmin {
  /**
   * Runs requests, with retries, because a new topic has no leader for a moment: they must be safe to repeat. Failures become
   * PlatformErrors that begin with `doing`.
   */
  use<T>(doing: string, work: (admin: Admin) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createSharedAdmin(kafka: Kafka): SharedAdmin {
  let current: Promise<Admin> | undefined;

  const connected = (): Promise<Admin> => (current ??= connect(kafka));
  const discard = async (): Promise<void> => {
    const discarded = current;
    current = undefined;
    const admin = await discarded?.catch(() => undefined);
    if (admin !== undefined) await settledWithin(2_000, admin.disconnect());
  };

  return {
    async use(doing, work) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await work(await connected());
        } catch (error) {
          if (!isSettling(error) || attempt > SETTLING_TRIES) {
            if (isLost(error)) await discard();
            throw kafkaError(doing, error);
          }
        }
        await pause(attempt * 100);
      }
    },
    close: discard,
  };
}

/** No broker answered: the next request should use a new connection. */
const isLost = (error: unknown): boolean => !(error instanceof PlatformError) && protocolType(error) === undefined;

/** True if a broker cannot serve the request yet, or another broker can. For a missing coordinator, also after kafkajs has given up. */
function isSettling(error: unknown): boolean {
  if (!(error instanceof PlatformError) && isWithoutCoordinator(error)) return true;
  if (error instanceof PlatformError || isFinal(error) || protocolType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
  return protocolType(error) !== undefined && error instanceof Error && 'retriable' in error && error.retriable !== false;
}

async function connect(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin();
  await admin.connect();
  return admin;
}
