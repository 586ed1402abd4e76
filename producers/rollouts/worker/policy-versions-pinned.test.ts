import { describe, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { follow, never, publish, published, scoreOf, setUpPolicyVersions } from './policy-versions.testing.ts';

setUpPolicyVersions();

describe('pinned policy versions', () => {
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

  it('reads an older version when it is pinned, once for concurrent callers, and keeps the last few', async () => {
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

  it('waits for a pinned version that is about to be published, and rejects if it does not appear', async () => {
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

  it('stops waiting when it is aborted or closed', async () => {
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
});
