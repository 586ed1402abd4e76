// Both kinds of engines against a fake server: which requests an engine gets, in which order, and that it never stays paused.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTestClock } from '../../testing/clock.ts';
import { startFakeEngine, type EngineKind, type FakeEngine } from '../../testing/engine-server.ts';
import { createRecordingLogger } from '../../testing/logger.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import { createEngine } from './configured.ts';
import type { WeightsToLoad } from './engine.ts';
import { keepEngine, type EngineStatus } from './keep-engine.ts';

const KEY = 'a-key-that-nobody-sees';
const never = new AbortController().signal;
const weights = (version: number): WeightsToLoad => ({ path: `/w/v${version}`, label: `run-a/${version}` });

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

const changes = { vllm: '/collective_rpc', sglang: '/update_weights_from_disk' } as const;
const sequences = {
  vllm: ['/update_weight_version', '/pause?mode=abort', '/collective_rpc', '/update_weight_version', '/resume'],
  sglang: ['/pause_generation', '/update_weights_from_disk', '/continue_generation'],
} as const;

async function started(kind: EngineKind, apiKey = KEY) {
  const server = await startFakeEngine(kind, KEY);
  opened.push(server);
  return { server, engine: createEngine(`${server.name}/v1/`, { apiKey, timeoutMs: 5_000 }) };
}

/** Keeps an engine on the weights last passed to `want`. */
function keep(kind: EngineKind, { server, engine }: Awaited<ReturnType<typeof started>>) {
  const [clock, logger] = [createTestClock(), createRecordingLogger()];
  const statuses: EngineStatus[] = [];
  let wanted: WeightsToLoad | undefined;
  const kept = keepEngine({
    ...{ engine, run: 'run-a', wanted: () => wanted, clock, logger, metrics: noMetrics },
    onStatus: (status) => statuses.push(status),
  });
  opened.push(kept);
  return {
    ...{ kept, statuses, logger, server, kind },
    want: (next: WeightsToLoad | undefined): void => {
      wanted = next;
      kept.look();
    },
    /** Advances the clock until the condition holds. */
    settles: (holds: () => void): Promise<void> =>
      vi.waitFor(
        async () => {
          await clock.advance(30_000);
          holds();
        },
        { timeout: 20_000, interval: 3 },
      ),
  };
}

const serving = (server: FakeEngine, version: number) => () => {
  expect(server).toMatchObject({ ...weights(version), paused: false });
};

describe.each(['vllm', 'sglang'] as const)('%s', (kind) => {
  it('is paused, loads the weights with their label, and is resumed', async () => {
    const { server, engine } = await started(kind);
    expect(await engine.label(never)).toBe('default');
    await engine.load(weights(3), never);
    expect(server.calls).toEqual(sequences[kind]);
    expect(await engine.label(never)).toBe('run-a/3');
    serving(server, 3)();
  });

  it('is resumed if the weights cannot be loaded, and the error does not contain the key', async () => {
    const { server, engine } = await started(kind);
    server.fail(changes[kind], 1, 400);
    await expect(engine.load(weights(3), never)).rejects.toMatchObject({ code: 'ENGINE_REFUSED', message: /it fails/ });
    expect(server).toMatchObject({ paused: false, path: '' });
    expect(server.label).not.toBe('run-a/3');
    const { engine: keyless } = await started(kind, 'another-key');
    const error: unknown = await keyless.label(never).catch((refused: unknown) => refused);
    expect(String(error)).toMatch(/HTTP 401, wrong key Bearer \(key\)/);
  });

  it('is reported as unavailable if it does not run', async () => {
    const { server, engine } = await started(kind);
    await server.close();
    await expect(engine.load(weights(3), never)).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE' });
  });

  it('gets only the newest version after it missed several', async () => {
    const kept = keep(kind, await started(kind));
    const { server, statuses, want, settles } = kept;
    server.fail(changes[kind], 4);
    for (const version of [1, 2, 3]) want(weights(version));
    await settles(serving(server, 3));
    const paths = server.calls.filter((route) => route === changes[kind]);
    expect(paths.length).toBe(5);
    await settles(() => {
      expect(statuses.at(-1)).toEqual({ engine: expect.stringContaining(server.url) as string, version: 3, error: '' });
    });
  });

  it('gets the version again after it was restarted or updated by somebody else', async () => {
    const kept = keep(kind, await started(kind));
    const { server, want, settles } = kept;
    want(weights(2));
    await settles(serving(server, 2));
    server.restart();
    await settles(serving(server, 2));
    Object.assign(server, { label: 'another-run/7', path: '/elsewhere' });
    await settles(serving(server, 2));
  });

  it('gets no request while no version is wanted', async () => {
    const { server, want, settles } = keep(kind, await started(kind));
    want(undefined);
    await settles(() => undefined);
    expect(server.calls).toEqual([]);
  });

  it('is resumed if an earlier update was killed between pause and resume, before or after loading', async () => {
    for (const label of ['default', 'run-a/2']) {
      const { server, want, settles } = keep(kind, await started(kind));
      Object.assign(server, { paused: true, label, path: label === 'default' ? '' : '/w/v2' });
      want(weights(2));
      await settles(serving(server, 2));
    }
  });

  it('ends up serving the newest version, whatever fails', async () => {
    const route = fc.constantFrom(...sequences[kind]);
    const fault = fc.record({ route, how: fc.constantFrom('fail', 'cut', 'restart'), times: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ faults: fc.array(fault, { maxLength: 3 }) }), { minLength: 1, maxLength: 4 }),
        async (rounds) => {
          const { server, engine } = await started(kind);
          const { want, settles, kept } = keep(kind, { server, engine });
          for (const [at, { faults }] of rounds.entries()) {
            for (const { route: path, how, times } of faults) {
              if (how === 'fail') server.fail(path, times);
              else if (how === 'cut') server.cut(path);
              else server.restart();
            }
            want(weights(at + 1));
          }
          await settles(serving(server, rounds.length));
          await kept.close();
          await server.close();
        },
      ),
      { numRuns: 10 },
    );
  });
});
