// Engines follow the policies of a run, with an in-memory log, real weight files, fake engine servers, and a test clock.
import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PolicyPublished } from '../../../../schemas/generated/events.ts';
import { PlatformError } from '../../../../streams/core/errors.ts';
import { noMetrics, type Metrics } from '../../../../streams/core/telemetry.ts';
import { createEngine } from '../../../llm/engines/configured.ts';
import { codecReader } from '../../../testing/codec-reader.ts';
import { createTestClock } from '../../../testing/clock.ts';
import { startFakeEngine, type FakeEngine } from '../../../testing/engine-server.ts';
import { createRecordingLogger } from '../../../testing/logger.ts';
import { MemoryLog } from '../../../testing/memory-log.ts';
import { createWeightsReader, type WeightsReader } from '../../../web/weights-reader.ts';
import { updateEngines, type EngineUpdateOptions, type EngineUpdates } from './engine-updates.ts';

let folder = '';
let weights: WeightsReader;
const opened: { close(): Promise<void> }[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnstream-engines-'));
  weights = createWeightsReader({ allowed: [], maxBytes: 1_000, timeoutMs: 5_000, folder: join(folder, 'kept') });
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  await weights.close();
  rmSync(folder, { recursive: true, force: true });
});

const pathOf = (version: number): string => join(folder, `v${version}.safetensors`);

function published(version: number, fields: Partial<PolicyPublished> = {}): PolicyPublished {
  const bytes = Buffer.from(`weights of ${version}`);
  if (fields.uri === undefined) writeFileSync(pathOf(version), bytes);
  return {
    ...{ event_id: `run-a/policy/${version}/${Math.random()}`, run_id: 'run-a', occurred_at: 1, producer: 'trainer' },
    ...{ version, parent: version - 1, sha256: createHash('sha256').update(bytes).digest('hex'), format: 'hf-safetensors' },
    ...{ weights: Buffer.alloc(0), uri: pathToFileURL(pathOf(version)).href, bytes: 0, manifest: [], loadable: true },
    ...{ optimizer: Buffer.alloc(0), optimizer_sha256: '', architecture: '{}', backend: 'external' },
    ...fields,
  };
}

const wrong = { sha256: 'f'.repeat(64) };

interface World {
  readonly log: MemoryLog;
  readonly servers: readonly FakeEngine[];
  publish(...events: readonly PolicyPublished[]): Promise<void>;
}

async function world(): Promise<World> {
  const log = new MemoryLog();
  const servers = [await startFakeEngine('vllm'), await startFakeEngine('sglang')];
  opened.push(...servers);
  return {
    ...{ log, servers },
    publish: async (...events) => {
      await log.writer().append(events.map((event) => ({ type: 'PolicyPublished', key: event.run_id, event })));
    },
  };
}

/** The updates of a trainer that has just started. */
function follow({ log, servers }: World, overrides: Partial<EngineUpdateOptions> = {}) {
  const [clock, logger] = [createTestClock(), createRecordingLogger()];
  let health = { text: '', figures: {} as Readonly<Record<string, number>> };
  const updates: EngineUpdates = updateEngines({
    ...{ runId: 'run-a', log: log.reader(), reader: codecReader(log.codec), clock, logger, metrics: noMetrics },
    engines: servers.map(({ name }) => createEngine(name, { apiKey: '', timeoutMs: 5_000 })),
    check: (named, signal) => weights.check(named, signal),
    tell: (text, figures = {}) => (health = { text, figures }),
    ...overrides,
  });
  opened.push(updates);
  const settles = (holds: () => void): Promise<void> =>
    vi.waitFor(
      async () => {
        await clock.advance(60_000);
        holds();
      },
      { timeout: 15_000, interval: 3 },
    );
  return { updates, logger, settles, health: () => health };
}

const serving =
  ({ servers }: World, version: number) =>
  (): void => {
    for (const server of servers) expect(server).toMatchObject({ label: `run-a/${version}`, path: pathOf(version), paused: false });
  };

describe('engines', () => {
  it('get the newest version of the run, at the start and when one is published', async () => {
    const here = await world();
    await here.publish(published(0), published(1), published(9, { run_id: 'run-b' }));
    const { settles, health } = follow(here);
    await settles(serving(here, 1));
    await here.publish(published(2));
    await settles(serving(here, 2));
    await settles(() => {
      expect(health()).toEqual({ text: '', figures: { engines: 2, engines_behind: 0, engines_version: 2 } });
    });
  });

  it('stay on the previous version when a hash does not match, which health, metrics, and log report', async () => {
    const here = await world();
    const counted: string[] = [];
    const metrics: Metrics = { ...noMetrics, count: (name, labels) => counted.push(`${name} ${Object.values(labels).join(' ')}`) };
    await here.publish(published(1), published(2, wrong));
    const { settles, health, logger } = follow(here, { metrics });
    await settles(serving(here, 1));
    expect(health().text).toMatch(/version 2 is not used: .*published as ffff/);
    expect(counted).toContain('policy_refused_total WEIGHTS_MISMATCH');
    const refusals = logger.lines.filter(({ level }) => level === 'error').map(({ fields }) => [fields['version'], fields['code']]);
    expect(refusals).toEqual([[2, 'WEIGHTS_MISMATCH']]);
    await here.publish(published(2));
    await settles(serving(here, 2));
    await settles(() => {
      expect(health().text, 'published again, it is used').toBe('');
    });
  });

  it('take a version once its file was repaired in place, and report each refusal once', async () => {
    const here = await world();
    const broken = published(2);
    writeFileSync(pathOf(2), 'half of it');
    await here.publish(published(1), broken);
    const { settles, health, logger } = follow(here);
    await settles(serving(here, 1));
    expect(health().text).toMatch(/version 2 is not used: .*sha256/);
    // at once: a check that is reading the file must not see a part of each
    writeFileSync(join(folder, 'repaired'), 'weights of 2');
    renameSync(join(folder, 'repaired'), pathOf(2));
    await settles(serving(here, 2));
    expect(logger.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['version'])).toEqual([2]);
  });

  it('wait for weights that cannot be read yet', async () => {
    const here = await world();
    const late = published(2);
    rmSync(pathOf(2));
    await here.publish(published(1), late);
    const { settles, health } = follow(here);
    await settles(serving(here, 1));
    expect(health().text).toMatch(/version 2 is not used: .*ENOENT/);
    writeFileSync(pathOf(2), 'weights of 2');
    await settles(serving(here, 2));
  });

  it.each([{ loadable: false }, { format: 'engine-pushed', uri: '' }])('are not asked if the trainer pushes: %j', async (fields) => {
    const here = await world();
    await here.publish(published(1), published(2, fields));
    const { updates, health } = follow(here);
    await vi.waitFor(() => {
      expect(health().figures).toMatchObject({ engines_version: 2 });
    });
    await updates.finish(1);
    expect(here.servers.map(({ calls }) => calls)).toEqual([[], []]);
  });

  it.each(['mlp-f32-v1', 'peft-lora'])('are not given %s in place of their weights', async (format) => {
    const here = await world();
    await here.publish(published(1, { format }));
    const { health } = follow(here);
    await vi.waitFor(() => {
      expect(health().text).toContain(`cannot load ${format}`);
    });
    expect(here.servers.map(({ calls }) => calls)).toEqual([[], []]);
  });

  it('that are down delay neither the others nor the run', async () => {
    const here = await world();
    const [first, second] = here.servers as [FakeEngine, FakeEngine];
    await first.close();
    await here.publish(published(1));
    const { settles, health, updates } = follow(here);
    await settles(() => {
      expect(second.label).toBe('run-a/1');
      expect(health().text).toContain(`${first.name} is on version -1 instead of 1: asking ${first.name}`);
      expect(health().figures).toMatchObject({ engines: 2, engines_behind: 1 });
    });
    await updates.finish(60_000);
  });

  it('have the last version when a run finishes', async () => {
    const here = await world();
    const { updates } = follow(here);
    await here.publish(published(1), published(2));
    await updates.finish(60_000);
    serving(here, 2)();
  });

  it('follow again after an outage of the log', async () => {
    const here = await world();
    await here.publish(published(1));
    const reader = here.log.reader();
    let failures = 3;
    const bounds: typeof reader.bounds = (topic) =>
      (failures -= 1) > 0 ? Promise.reject(new PlatformError('KAFKA_UNAVAILABLE', 'away')) : reader.bounds(topic);
    const { settles } = follow(here, { log: { ...reader, bounds } });
    await settles(serving(here, 1));
  });

  it('end up on the newest valid version, whatever was published and whenever the trainer started', async () => {
    const kind = fc.constantFrom('good', 'wrong', 'gone', 'mlp-f32-v1');
    await fc.assert(
      fc.asyncProperty(fc.array(kind, { minLength: 1, maxLength: 6 }), fc.nat(6), fc.boolean(), async (kinds, before, dies) => {
        const here = await world();
        const events = kinds.map((what, version) => {
          const event = published(version, what === 'wrong' ? wrong : what === 'mlp-f32-v1' ? { format: what } : {});
          if (what === 'gone') rmSync(pathOf(version));
          return event;
        });
        const first = follow(here);
        await here.publish(...events.slice(0, before));
        if (dies) await first.updates.close();
        const { settles, updates } = dies ? follow(here) : first;
        await here.publish(...events.slice(before));
        const newest = kinds.lastIndexOf('good');
        await settles(newest < 0 ? () => undefined : serving(here, newest));
        await updates.close();
      }),
      { numRuns: 10 },
    );
  });
});
