// Shared by the tests of the live stream: a server over the memory log, and its streams, closed after each test.
import { afterEach, beforeEach, expect } from 'vitest';
import type { HttpServer } from '../../../infra/http/server.ts';
import { testApi, type TestApiOptions } from '../../../infra/testing/api.ts';
import { outgoing } from '../../../infra/testing/events.ts';
import { EventStream, type ServerSentEvent } from '../../../infra/testing/event-stream.ts';
import { createFakeStore } from '../../../infra/testing/fake-store.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { turn } from '../../../infra/testing/rollout-events.ts';

export let log: MemoryLog;

export let server: HttpServer;

export let url: string;

const streams: EventStream[] = [];

export async function start(options: Partial<TestApiOptions> = {}): Promise<void> {
  server = await testApi({
    store: createFakeStore(({ params }) => (params['run'] === 'nope' ? [] : [{ known: 1 }])),
    log,
    live: { heartbeatMs: 10 },
    ...options,
  });
  ({ url } = await server.listen());
}

/** Call it at the top level of a test file. */
export function setUpLive(): void {
  beforeEach(() => {
    log = new MemoryLog();
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.close();
    await server.close();
  });
}

export async function open(query = '', headers: Record<string, string> = {}): Promise<EventStream> {
  const stream = await EventStream.open(`${url}/v1/live${query}`, headers);
  expect(stream.answer.status).toBe(200);
  expect(stream.answer.headers.get('content-type')).toContain('text/event-stream');
  expect(stream.answer.headers.get('x-content-type-options')).toBe('nosniff');
  streams.push(stream);
  return stream;
}

export const write = (trajectory: string, run = 'run-a') =>
  log.writer().append([outgoing('TurnRecorded', turn({ trajectory, sequence: 1, run }, 0))]);

export const trajectoryOf = (event: ServerSentEvent | undefined) =>
  (event?.data['event'] as { trajectory_id: string } | undefined)?.trajectory_id;
