import { beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import type { AuditDeps, AuditProgress, AuditResult } from './audit.ts';
import type { AuditState } from './audit-findings.ts';
import { warehouseTopics } from './rows/tables.ts';
import type { AuditWorld } from './audit.testing.ts';
import { filledWorld } from './audit.testing.ts';

describe('the audit of a long log', () => {
  let world: AuditWorld;
  let whole: AuditResult;

  beforeAll(async () => {
    world = await filledWorld();
    whole = await world.audit();
  });

  it('finds the same in small slices as in large ones, and reports its progress', async () => {
    const told: AuditProgress[] = [];
    const result = await world.audit({ sliceRecords: 80 }, { onProgress: (progress) => told.push(progress) });
    expect(result).toEqual(whole);
    expect(told.map(({ records }) => records)).toEqual(told.map(({ records }) => records).sort((a, b) => a - b));
    expect(new Set(told.map(({ topic }) => topic))).toEqual(new Set(warehouseTopics));
    expect(told.at(-1)).toMatchObject({ records: told[0]!.of, differences: 0 });
  });

  it('gives the whole result when it is stopped after a slice and resumed, several times', async () => {
    let state: AuditState | undefined;
    let result: AuditResult | undefined;
    let tries = 0;
    for (; result?.complete !== true; tries += 1) {
      const stop = new AbortController();
      const onSlice = (reached: AuditState): void => {
        state = JSON.parse(JSON.stringify(reached)) as AuditState;
        if (tries < 3) stop.abort();
      };
      result = await world.audit(
        { sliceRecords: 150, ...(state === undefined ? {} : { resume: state }) },
        { onSlice, signal: stop.signal },
      );
      expect(result.ok).toBe(result.complete);
    }
    expect(tries).toBe(4);
    expect(result).toEqual(whole);
    expect(await world.scratch()).toEqual([]);
  });

  it('splits a slice when a query reaches a limit, and fails when it cannot be split further', async () => {
    const { store } = world;
    const limit = (most: number): Pick<AuditDeps, 'store'> => ({
      store: {
        database: store.database,
        ping: () => store.ping(),
        stream: (...asked) => store.stream(...asked),
        command: (...asked) => store.command(...asked),
        insert: (...asked) => store.insert(...asked),
        close: () => store.close(),
        async query(sql, options) {
          const { ends = [], firsts = [] } = (options?.params ?? {}) as { ends?: number[]; firsts?: number[] };
          const asked = ends.reduce((sum, end, at) => sum + end - (firsts[at] ?? end), 0);
          if (asked <= most) return store.query(sql, options);
          throw new PlatformError('STORE_UNAVAILABLE', 'querying: too slow', { context: { clickhouseCode: 159 } });
        },
      },
    });
    expect(await world.audit({}, limit(120))).toEqual(whole);
    await expect(world.audit({}, limit(10))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await world.scratch()).toEqual([]);
  });

  it('compares only part of the log as a sample, and finds differences there', async () => {
    const sample = { share: 0.3, seed: 5 };
    const some = await world.audit({ sample });
    expect(some).toMatchObject({ ok: true, complete: true, sample, differences: [] });
    expect(some.records).toBeGreaterThan(0);
    expect(some.records).toBeLessThan(whole.records);
    expect(await world.audit({ sample: { share: 1, seed: 5 } })).toEqual({ ...whole, sample: { share: 1, seed: 5 } });
    await world.mutate('alter table turns delete where 1');
    expect(await world.audit({ sample })).toMatchObject({ ok: false });
  });

  it('leaves out records that retention deletes while it reads', async () => {
    const { log } = world;
    const reader = log.reader();
    let taken = false;
    const readToEnd: typeof reader.readToEnd = async (topic, options) => {
      if (topic === 'tasks' && !taken) {
        taken = true;
        log.deleteBefore('tasks', 0, 3);
      }
      await reader.readToEnd(topic, options);
    };
    const result = await world.audit({}, { reader: { ...reader, readToEnd } });
    expect(taken).toBe(true);
    expect(result.differences.filter(({ table }) => table === 'tasks')).toEqual([]);
  });
});
