// Posts JSON to an address that the operator configured, such as a chat or a pager. The address must be public or listed as a private one,
// and redirects are not followed, so that a domain that changes hands cannot redirect to the internal network.
import { createCallClock } from '../lifecycle/call-clock.ts';
import { ask, type TextResponse } from './ask.ts';
import { createGuardedAgent, type GuardOptions } from './guarded-agent.ts';

interface WebhookOptions {
  /** May hold a secret: never logged. */
  readonly url: string;
  /** `host:port` of private services that may be posted to. */
  readonly allowed: readonly string[];
  readonly retries: number;
  readonly timeoutMs: number;
  readonly random: () => number;
  readonly resolve?: GuardOptions['resolve'];
}

export interface Webhook {
  /** Tries a bounded number of times; never rejects. */
  send(body: object, signal: AbortSignal): Promise<TextResponse>;
  close(): Promise<void>;
}

const MAX_ANSWER_BYTES = 65_536;

export function createWebhook({ url, allowed, retries, timeoutMs, random, resolve }: WebhookOptions): Webhook {
  const guard = { allowed: new Set(allowed), connectTimeoutMs: timeoutMs };
  const dispatcher = createGuardedAgent(resolve === undefined ? guard : { ...guard, resolve });
  return {
    send: (body, signal) =>
      ask(url, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', 'user-agent': 'turnstream' }, body: JSON.stringify(body) },
        ...{ timeoutMs, retries, maxBytes: MAX_ANSWER_BYTES, random, signal, dispatcher, clock: createCallClock() },
      }),
    close: () => dispatcher.close(),
  };
}
