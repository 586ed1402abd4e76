import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import { loadConfig } from '../../config/load.ts';
import { freePort } from '../open/local-ports.ts';
import type { FromRole } from '../messages.ts';
import { runRole, type RoleContext, type RoleMain } from './role.ts';

const config = loadConfig({ TURNSTREAM_LOG_LEVEL: 'silent' });

function host(supervised = true) {
  const events = new EventEmitter();
  const sent: FromRole[] = [];
  const exits: number[] = [];
  const send = async (message: FromRole): Promise<void> => void sent.push(message);
  return { events, sent, exits, send: supervised ? send : undefined, exit: (code: number) => void exits.push(code) };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });

/** Runs until it is stopped, and reports once. */
const patient: RoleMain = async ({ report }, signal) => {
  report({ state: 'live', detail: '', figures: { step: 1 } });
  await untilAborted(signal);
  return 'stopped';
};

describe('a role as a process', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('exits with 0 when it has finished, and removes its listeners', async () => {
    const made = host();
    expect(await runRole({ name: 'trainer', config, main: async () => 'finished' }, made)).toBe(0);
    expect(made.events.eventNames()).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGINT'])('stops at %s: with 0 by hand, with 143 under a supervisor', async (name) => {
    for (const [supervised, code] of [
      [true, 143],
      [false, 0],
    ] as const) {
      const made = host(supervised);
      const run = runRole({ name: 'worker-1', config, main: patient }, made);
      made.events.emit(name, name);
      expect(await run).toBe(code);
      expect(made.sent.map(({ type }) => type)).toEqual(supervised ? ['status'] : []);
    }
  });

  it('serves its health on its own port', async () => {
    vi.useRealTimers();
    const port = await freePort();
    const made = host();
    const run = runRole({ name: 'worker-1', config: { ...config, healthPort: port }, main: patient }, made);
    await vi.waitFor(
      async () => {
        expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
      },
      { timeout: 20_000 },
    );
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain('turnstream_worker_events_waiting');
    made.events.emit('SIGTERM', 'SIGTERM');
    expect(await run).toBe(143);
    await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
  });

  it('receives the health of other roles', async () => {
    const made = host();
    const services = [{ name: 'trainer', state: 'live', detail: '', restarts: 0, sinceMs: 1 }];
    let seen: unknown;
    const main: RoleMain = async (context) => {
      made.events.emit('message', { type: 'health', services });
      made.events.emit('message', { type: 'health' });
      seen = context.services();
      return 'finished';
    };
    await runRole({ name: 'api', config, main }, made);
    expect(seen).toEqual(services);
  });

  it('stops when its supervisor disconnects', async () => {
    const made = host();
    const run = runRole({ name: 'api', config, main: patient }, made);
    made.events.emit('disconnect');
    expect(await run).toBe(143);
  });

  it('exits at once if stopping takes too long, or at a second signal', async () => {
    const made = host();
    void runRole({ name: 'store', config, main: () => new Promise(() => undefined) }, made);
    made.events.emit('SIGTERM', 'SIGTERM');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(made.exits).toEqual([]);
    made.events.emit('SIGINT', 'SIGINT');
    expect(made.exits).toEqual([130]);
    await vi.advanceTimersByTimeAsync(12_000);
    expect(made.exits).toEqual([130, 130]);
  });

  it('reports why it failed, and exits with the code of the error', async () => {
    const fail = (error: Error): RoleMain => {
      return () => Promise.reject(error);
    };
    const fenced = host();
    const main = fail(new PlatformError('PRODUCER_FENCED', 'committing step 3: another trainer took over'));
    expect(await runRole({ name: 'trainer', config, main }, fenced)).toBe(3);
    expect(fenced.sent).toEqual([{ type: 'failed', code: 'PRODUCER_FENCED', message: 'committing step 3: another trainer took over' }]);
    expect(await runRole({ name: 'trainer', config, main: fail(new PlatformError('CONFIG_INVALID', 'x')) }, host(false))).toBe(2);
    const bug = host();
    expect(await runRole({ name: 'trainer', config, main: fail(new TypeError('x is not a function')) }, bug)).toBe(1);
    expect(bug.sent).toEqual([{ type: 'failed', code: 'INTERNAL', message: 'x is not a function' }]);
  });

  it('sends its metrics to the supervisor, and serves those of other roles', async () => {
    const made = host();
    let context: RoleContext | undefined;
    const main: RoleMain = (given, signal) => {
      context = given;
      return patient(given, signal);
    };
    const run = runRole({ name: 'api', config, main }, made);
    context?.metrics.count('api_requests_total', { route: '/v1/runs', status: '200' });
    await vi.advanceTimersByTimeAsync(5_000);
    const [metrics] = made.sent.filter(({ type }) => type === 'metrics');
    expect(JSON.stringify(metrics)).toContain('turnstream_api_requests_total');
    made.events.emit('message', { type: 'metrics', role: 'trainer', metrics: [{ name: 'old' }] });
    made.events.emit('message', { type: 'metrics', role: 'trainer', metrics: [{ name: 'new' }] });
    made.events.emit('message', 'nonsense');
    expect(context?.metricsOfOthers()).toEqual([[{ name: 'new' }]]);
    expect(context?.status()).toMatchObject({ state: 'live', figures: { step: 1 } });
    made.events.emit('SIGTERM', 'SIGTERM');
    await run;
  });
});
