// Shared by the tests of the API over a fake store: one server for all of them.
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { HttpServer } from '../../infra/http/server.ts';
import { testApi } from '../../infra/testing/api.ts';
import { createFakeStore, type RecordedStatement } from '../../infra/testing/fake-store.ts';

type Answer = (asked: RecordedStatement) => readonly object[];
let answer: Answer = () => [];

/** Sets what the store answers until the end of the test; by default, it has no rows. */
export function storeAnswers(next: Answer): void {
  answer = next;
}

export const store = createFakeStore((asked) => answer(asked));

export let shared: HttpServer;

/** Call it at the top level of a test file. */
export function setUpApiFake(): void {
  beforeAll(async () => {
    shared = await testApi({ store });
  });
  afterAll(async () => {
    await shared.close();
  });
  beforeEach(() => {
    store.asked.length = 0;
    answer = () => [];
  });
}

export const get = async (server: HttpServer, url: string) => {
  const reply = await server.app.inject(url);
  return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
};
