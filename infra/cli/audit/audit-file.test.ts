import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditState } from '../../../consumers/warehouse/audit-findings.ts';
import { auditFile, type KeptAudit } from './audit-file.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'turnstream-audit-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const kept: KeptAudit = { at: '2026-01-01T00:00:00.000Z', state: { records: 7 } as AuditState };
const place = (more: object = {}) => ({
  dataDir: join(dir, 'not', 'there', 'yet'),
  namespace: 'turnstream',
  clickhouseDatabase: 'a',
  ...more,
});

describe('the saved progress of an audit', () => {
  it('is written to a data directory that does not exist yet, and removed', async () => {
    const file = auditFile(place());
    expect(await file.read()).toBeUndefined();
    await file.write(kept);
    expect(await file.read()).toMatchObject(kept);
    await file.remove();
    expect(await file.read()).toBeUndefined();
  });

  it('is ignored for another log or other tables', async () => {
    await auditFile(place()).write(kept);
    expect(await auditFile(place({ clickhouseDatabase: 'b' })).read()).toBeUndefined();
    expect(await auditFile(place({ namespace: 'other' })).read()).toBeUndefined();
  });
});
