import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../../testing/logger.ts';
import './kafkajs.ts';

interface QueuedRequest {
  readonly correlationId: number;
  reject(error: unknown): void;
  resolve(answer: unknown): void;
}

interface RequestQueue {
  push(pushed: { readonly entry: QueuedRequest; readonly expectResponse: boolean; readonly sendRequest: () => void }): void;
  fulfillRequest(answer: { readonly correlationId: number; readonly payload: unknown; readonly size: number }): void;
  maybeThrottle(ms: number): void;
}

const Made = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as new (options: object) => RequestQueue;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const queue = new Made({ maxInFlightRequests: 1, requestTimeout: 1_000, clientId: 'c', broker: 'b', logger: silentLogger });
  const sent: number[] = [];
  const push = (correlationId: number): void => {
    const entry = { correlationId, reject: () => undefined, resolve: () => undefined };
    queue.push({ entry, expectResponse: true, sendRequest: () => sent.push(correlationId) });
  };
  const answer = (correlationId: number): void => {
    queue.fulfillRequest({ correlationId, payload: {}, size: 1 });
  };
  return { queue, sent, push, answer };
}

it('sets no timer when nothing waits to be sent', () => {
  const { sent, push, answer } = setUp();
  push(1);
  answer(1);
  expect(sent).toEqual([1]);
  expect(vi.getTimerCount()).toBe(0);
});

it('sends requests that waited for a response, or for the end of a throttle', () => {
  const { queue, sent, push, answer } = setUp();
  push(1);
  push(2);
  expect(sent).toEqual([1]);
  answer(1);
  expect(sent).toEqual([1, 2]);
  answer(2);
  queue.maybeThrottle(300);
  push(3);
  vi.advanceTimersByTime(299);
  expect(sent).toEqual([1, 2]);
  vi.advanceTimersByTime(2);
  expect(sent).toEqual([1, 2, 3]);
  answer(3);
  expect(vi.getTimerCount()).toBe(0);
});
