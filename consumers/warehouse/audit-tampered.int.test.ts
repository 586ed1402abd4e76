import { beforeAll, describe, expect, it } from 'vitest';
import type { AuditDifference } from './audit-findings.ts';
import { tableNames } from './rows/tables.ts';
import type { AuditWorld } from './audit.testing.ts';
import { filledWorld } from './audit.testing.ts';

describe('the audit of tables that were tampered with', () => {
  let world: AuditWorld;

  beforeAll(async () => {
    world = await filledWorld();
  });

  it('detects one cell changed, one row duplicated, and one row removed, in every table', async () => {
    const places = await Promise.all(
      tableNames.map(async (table) => {
        const [row] = await world.store.query<{ partition: number; offset: number }>(
          `select _partition as partition, _offset as offset from ${table} order by _topic, _partition, _offset limit 1`,
        );
        return { table, ...row!, where: `_partition = ${row!.partition} and _offset = ${row!.offset}` };
      }),
    );
    const differing = async (kind: AuditDifference['kind']): Promise<AuditDifference[]> => {
      const result = await world.audit({ differences: 100 });
      expect(result.ok).toBe(false);
      const found = result.differences.filter((one) => one.kind === kind);
      for (const { table, partition, offset } of places) {
        expect(found, `${kind} in ${table}`).toContainEqual(expect.objectContaining({ table, partition, offset }));
        expect(result.topics.filter((one) => one.table === table && !one.equal)).toHaveLength(1);
      }
      return found;
    };

    for (const { table, where } of places)
      await world.mutate(`alter table ${table} update producer = concat(producer, '!') where ${where}`);
    const changed = await differing('changed');
    expect(changed).toHaveLength(tableNames.length);
    for (const { columns } of changed) expect(new Set(columns.map(({ column }) => column))).toEqual(new Set(['producer']));

    for (const { table, where } of places) {
      await world.mutate(`alter table ${table} update producer = substring(producer, 1, length(producer) - 1) where ${where}`);
    }
    expect((await world.audit()).ok).toBe(true);

    for (const { table, where } of places) await world.store.command(`insert into ${table} select * from ${table} where ${where} limit 1`);
    expect(await differing('extra')).toHaveLength(tableNames.length);

    for (const { table, where } of places) await world.mutate(`alter table ${table} delete where ${where}`);
    await differing('missing');
    expect(await world.scratch()).toEqual([]);
  });

  it('detects a removed dead letter, rows that belong to no record, and rows beyond the end', async () => {
    await world.mutate(`alter table dead_letter_events delete where step = 'warehouse' and original_topic = 'rollouts'`);
    const result = await world.audit({ differences: 100 });
    expect(result.differences.filter(({ kind }) => kind === 'uncovered')).toHaveLength(2);
    for (const change of [`_partition + 7 as _partition`, `_offset + 1000000 as _offset`, `'elsewhere' as _topic`]) {
      await world.store.command(`insert into turns select * replace (${change}) from turns limit 1`);
    }
    const extra = (await world.audit({ differences: 100 })).differences.filter(({ table, kind }) => table === 'turns' && kind === 'extra');
    expect(extra).toHaveLength(3);
  });

  it('lists no more differences than requested', async () => {
    await world.mutate(`alter table turns delete where 1`);
    const result = await world.audit({ differences: 3 });
    expect(result.differences).toHaveLength(3);
    expect(result).toMatchObject({ ok: false, moreDifferences: true });
  });
});
