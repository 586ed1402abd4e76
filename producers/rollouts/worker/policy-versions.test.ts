import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { LogReader } from '../../../streams/core/ports.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { follow, never, publish, published, scoreOf, setUpPolicyVersions } from './policy-versions.testing.ts';

setUpPolicyVersions();

describe('policy versions', () => {
  it('waits for the first version, and follows later ones', async () => {
    const log = new MemoryLog();
    const { versions } = follow(log);
    let ready = false;
    const starting = versions.start(never).then(() => (ready = true));
    await log.idle();
    expect([ready, versions.newest()]).toEqual([false, -1]);
    await expect(versions.scorer(-1)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await publish(log, [published(0, { run_id: 'run-b' })]);
    await log.idle();
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

  it('ignores weights that do not match their event, and keeps the version before', async () => {
    const log = new MemoryLog();
    const wrong = { sha256: 'f'.repeat(64) };
    await publish(log, [published(0), published(1), published(2, wrong), published(3, { architecture: '{' })]);
    const refused: unknown[] = [];
    const { versions, logger } = follow(log, { onRefused: (version, { code }) => refused.push([version, code]) });
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
    expect(refused).toEqual(errors);
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

  it('fetches weights that are not inline', async () => {
    const log = new MemoryLog();
    const elsewhere = published(0);
    await publish(log, [{ ...elsewhere, weights: Buffer.alloc(0), uri: 's3://bucket/0' }]);
    const { versions } = follow(log, { fetchWeights: async (uri) => Buffer.from(uri === 's3://bucket/0' ? 'weights of 0' : '') });
    await versions.start(never);
    expect(await scoreOf(versions, 0)).toBe(0);
  });

  it('waits for an outage to end, and reports any other error', async () => {
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
