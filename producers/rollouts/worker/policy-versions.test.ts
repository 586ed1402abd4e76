import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { LogReader } from '../../../streams/core/ports.ts';
import type { PolicyWeights, Scorer, ScorerFactory } from '../../../streams/core/learning.ts';
import { createRecordingLogger } from '../../../infra/testing/logger.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { createPolicyVersions, type FollowedPolicyVersions, type PolicyVersionsOptions } from './policy-versions.ts';

const architecture = { format: 'mlp-f32-v1', inputs: 1, hidden: [] };

function published(version: number, fields: Partial<PolicyPublished> = {}): PolicyPublished {
  const weights = fields.weights ?? Buffer.from(`weights of ${version}`);
  return {
    ...{ event_id: `run-a/policy/${version}`, run_id: 'run-a', occurred_at: 1, producer: 'trainer', version, parent: version - 1 },
    ...{ sha256: createHash('sha256').update(weights).digest('hex'), format: 'mlp-f32-v1', weights, uri: '' },
    ...{ optimizer: Buffer.alloc(0), optimizer_sha256: '', architecture: JSON.stringify(architecture), backend: 'cpu' },
    ...fields,
  };
}

const publish = async (log: MemoryLog, events: readonly PolicyPublished[]): Promise<void> => {
  await log.writer().append(events.map((event) => ({ type: 'PolicyPublished', key: event.run_id, event })));
};

/** Scores with the version number, and remembers what is loaded. */
function countingFactory() {
  const loaded = new Set<Scorer>();
  let gate = Promise.resolve();
  const factory: ScorerFactory = {
    backend: 'cpu',
    load({ version, bytes }: PolicyWeights) {
      if (bytes.toString() !== `weights of ${version}`) throw new RangeError('weights of another size');
      const scorer: Scorer = {
        async score() {
          if (!loaded.has(scorer)) throw new Error('disposed of');
          await gate;
          if (!loaded.has(scorer)) throw new Error('disposed of while in use');
          return Float32Array.of(version);
        },
        dispose: () => loaded.delete(scorer),
      };
      loaded.add(scorer);
      return scorer;
    },
  };
  const hold = (): (() => void) => {
    let open: () => void = () => undefined;
    gate = new Promise((resolve) => (open = resolve));
    return open;
  };
  return { factory, loaded, hold };
}

const opened: FollowedPolicyVersions[] = [];
afterEach(async () => {
  for (const versions of opened.splice(0)) await versions.close();
});

function follow(log: MemoryLog, overrides: Partial<PolicyVersionsOptions> = {}) {
  const counting = countingFactory();
  const logger = createRecordingLogger();
  const failures: unknown[] = [];
  const versions = createPolicyVersions({
    runId: 'run-a',
    log: log.reader(),
    reader: codecReader(log.codec),
    factory: counting.factory,
    fetchWeights: () => Promise.reject(new Error('no weights elsewhere')),
    logger,
    onFailure: (error) => failures.push(error),
    ...overrides,
  });
  opened.push(versions);
  return { versions, logger, failures, ...counting };
}
const never = new AbortController().signal;
const scoreOf = async (versions: FollowedPolicyVersions, version: number): Promise<number> => {
  const { scorer } = await versions.scorer(version);
  return (await scorer.score(new Float32Array(1), 1))[0] ?? Number.NaN;
};

describe('policy versions', () => {
  it('waits for the first version, and follows those that come', async () => {
    const log = new MemoryLog();
    const { versions } = follow(log);
    let ready = false;
    const starting = versions.start(never).then(() => (ready = true));
    await log.settled();
    expect([ready, versions.newest()]).toEqual([false, -1]);
    await expect(versions.scorer(-1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await publish(log, [published(0, { run_id: 'run-b' })]);
    await log.settled();
    expect(versions.newest()).toBe(-1);
    await publish(log, [published(0)]);
    await starting;
    expect(versions.newest()).toBe(0);
    await publish(log, [published(1), published(2)]);
    await vi.waitFor(
      () => {
        expect(versions.newest()).toBe(2);
      },
      { timeout: 20_000 },
    );
    expect(await scoreOf(versions, -1)).toBe(2);
  });

  it('starts with the tail of the topic and not with its history', async () => {
    const log = new MemoryLog({ batchRecords: 8 });
    const others = Array.from({ length: 300 }, (_, version) => published(version, { run_id: 'run-b' }));
    await publish(log, [...Array.from({ length: 1_500 }, (_, version) => published(version)), ...others]);
    const read: number[] = [];
    const reader = log.reader();
    const counted: LogReader = {
      ...reader,
      readToEnd: (topic, options) =>
        reader.readToEnd(topic, {
          ...options,
          onBatch: (batch) => {
            read.push(...batch.records.map(({ offset }) => offset));
            return options.onBatch(batch);
          },
        }),
    };
    const { versions, loaded, failures } = follow(log, { log: counted });
    await versions.start(never);
    expect(versions.newest()).toBe(1_499);
    expect(Math.min(...read)).toBeGreaterThan(0);
    expect(read.length).toBeLessThan(1_500);
    expect([loaded.size, failures]).toEqual([1, []]);
  });

  it('ignores weights that are not what was published, and goes on with the version before', async () => {
    const log = new MemoryLog();
    const wrong = { sha256: 'f'.repeat(64) };
    await publish(log, [published(0), published(1), published(2, wrong), published(3, { architecture: '{' })]);
    const { versions, logger } = follow(log);
    await versions.start(never);
    expect(versions.newest()).toBe(1);
    await publish(log, [published(4, wrong), published(5, { weights: Buffer.from('of another architecture') }), published(6)]);
    await vi.waitFor(
      () => {
        expect(versions.newest()).toBe(6);
      },
      { timeout: 20_000 },
    );
    const errors = logger.lines.filter(({ level }) => level === 'error').map(({ fields }) => [fields['version'], fields['code']]);
    expect(errors).toEqual([3, 2, 4, 5].map((version) => [version, 'WEIGHTS_MISMATCH']));
    expect(await scoreOf(versions, -1)).toBe(6);
    await expect(versions.scorer(4)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('never goes back, whatever is repeated', async () => {
    const log = new MemoryLog();
    await publish(log, [published(0), published(1)]);
    const { versions, loaded } = follow(log);
    await versions.start(never);
    await publish(log, [published(0), published(1), published(1), published(2)]);
    await vi.waitFor(
      () => {
        expect(versions.newest()).toBe(2);
      },
      { timeout: 20_000 },
    );
    expect(loaded.size).toBe(2);
  });

  it('keeps the newest few and version 0, and disposes of the others once no decision uses them', async () => {
    const log = new MemoryLog();
    await publish(log, [published(0)]);
    const { versions, loaded, hold } = follow(log, { keepNewest: 2 });
    await versions.start(never);
    await publish(log, [published(1)]);
    await vi.waitFor(
      () => {
        expect(versions.newest()).toBe(1);
      },
      { timeout: 20_000 },
    );
    const open = hold();
    const { scorer } = await versions.scorer(1);
    const deciding = scorer.score(new Float32Array(1), 1);
    await publish(log, [published(2), published(3), published(4)]);
    await vi.waitFor(
      () => {
        expect(versions.newest()).toBe(4);
      },
      { timeout: 20_000 },
    );
    expect(loaded.size).toBe(4);
    open();
    expect([...(await deciding)]).toEqual([1]);
    expect(loaded.size).toBe(3);
    expect([...(await scorer.score(new Float32Array(1), 1))]).toEqual([1]);
    expect(loaded.size).toBe(3);
    expect(await scoreOf(versions, 0)).toBe(0);
    await versions.close();
    expect(loaded.size).toBe(0);
  });

  it('reads an older version when it is pinned, once for all who ask, and keeps the last few', async () => {
    const log = new MemoryLog();
    await publish(
      log,
      Array.from({ length: 200 }, (_, version) => published(version)),
    );
    const { versions, loaded } = follow(log, { keepNewest: 1, keepPinned: 2 });
    await versions.start(never);
    expect(await Promise.all([scoreOf(versions, 7), scoreOf(versions, 7), scoreOf(versions, 0), scoreOf(versions, 199)])).toEqual([
      7, 7, 0, 199,
    ]);
    expect(loaded.size).toBe(3);
    for (const version of [8, 9, 7, 10]) expect(await scoreOf(versions, version)).toBe(version);
    // Newest, 0, and the two that were asked for last.
    expect(loaded.size).toBe(4);
    expect(await scoreOf(versions, 10)).toBe(10);
  });

  it('waits for a pinned version that is about to be published, and says when it is not', async () => {
    const log = new MemoryLog();
    await publish(log, [published(0)]);
    const { versions } = follow(log);
    await versions.start(never);
    const soon = scoreOf(versions, 1);
    await publish(log, [published(1)]);
    expect(await soon).toBe(1);
    const impatient = follow(log, { patienceMs: 5 });
    await impatient.versions.start(never);
    await expect(impatient.versions.scorer(7)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('fetches weights that are not inline', async () => {
    const log = new MemoryLog();
    const elsewhere = published(0);
    await publish(log, [{ ...elsewhere, weights: Buffer.alloc(0), uri: 's3://bucket/0' }]);
    const { versions } = follow(log, { fetchWeights: async (uri) => Buffer.from(uri === 's3://bucket/0' ? 'weights of 0' : '') });
    await versions.start(never);
    expect(await scoreOf(versions, 0)).toBe(0);
  });

  it('ends waiting when it is aborted or closed', async () => {
    const controller = new AbortController();
    const aborted = follow(new MemoryLog());
    const starting = aborted.versions.start(controller.signal);
    controller.abort(new Error('enough'));
    await expect(starting).rejects.toThrow('enough');
    const closed = follow(new MemoryLog());
    const waiting = closed.versions.start(never);
    await closed.versions.close();
    await waiting;
    expect(closed.versions.newest()).toBe(-1);
  });

  it('waits for an outage, and reports what is none', async () => {
    const log = new MemoryLog();
    await publish(log, [published(0)]);
    let report: (error: unknown) => void = () => undefined;
    const reader = log.reader();
    const { versions, failures, logger } = follow(log, {
      log: {
        ...reader,
        follow: (options) => {
          report = options.onError;
          return reader.follow(options);
        },
      },
    });
    await versions.start(never);
    report(new PlatformError('KAFKA_UNAVAILABLE', 'following policies: no broker answered'));
    expect(failures).toEqual([]);
    expect(logger.lines.at(-1)).toMatchObject({ level: 'warn' });
    const bug = new TypeError('x');
    report(bug);
    expect(failures).toEqual([bug]);
  });
});
