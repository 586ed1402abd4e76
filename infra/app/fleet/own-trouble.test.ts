import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import { watchOwnTrouble, type OwnTrouble } from './own-trouble.ts';
import { readServices, servicesPath } from '../open/services-file.ts';

const services = (run: string) => ({
  ...{ kafkaBrokers: ['127.0.0.1:1'], clickhouseUrl: '', apiUrl: '', registryUrl: '' },
  ...{ run, startedAt: '', processes: {} },
});

describe('problems of up itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnstream-own-'));
  const told: RoleStatus[] = [];
  let own: OwnTrouble | undefined;
  let free = Number.MAX_SAFE_INTEGER;
  const watch = (dataDir: string): OwnTrouble =>
    (own = watchOwnTrouble({ dataDir, onStatus: (status) => told.push(status), lookMs: 10, free: () => Promise.resolve(free) }));
  afterEach(() => {
    own?.close();
    told.length = 0;
    free = Number.MAX_SAFE_INTEGER;
  });

  it('writes the newest content of the services file as soon as it can be written, and does not fail meanwhile', async () => {
    const dataDir = join(folder, 'a file');
    writeFileSync(dataDir, '');
    watch(dataDir).publish(services('first'));
    own?.publish(services('second'));
    expect(told).toMatchObject([{ state: 'waiting', detail: expect.stringContaining('services.json') as unknown }]);
    rmSync(dataDir);
    mkdirSync(dataDir);
    await expect.poll(() => readServices(dataDir)?.run).toBe('second');
    expect(told.at(-1)).toMatchObject({ state: 'live', detail: '' });
  });

  it('reports a full disk until there is space again, and nothing before', async () => {
    watch(folder).publish(services('run'));
    expect(told).toEqual([]);
    free = 1_000;
    await expect
      .poll(() => told.at(-1))
      .toMatchObject({ state: 'waiting', detail: expect.stringContaining('is full; free some') as unknown });
    free = Number.MAX_SAFE_INTEGER;
    await expect.poll(() => told.at(-1)).toMatchObject({ state: 'live' });
    expect(told).toHaveLength(2);
  });

  it('reports the size of the data directory, warns before the disk is full, and stays live until then', async () => {
    const use = { bytes: 3e9, free_bytes: 9e9, disk_bytes: 90e9, parts: [{ part: 'tables', bytes: 3e9 }] };
    const measured: unknown[] = [];
    const news: boolean[] = [];
    own = watchOwnTrouble({
      dataDir: folder,
      onStatus: (status, isNews) => {
        told.push(status);
        news.push(isNews);
      },
      ...{ lookMs: 10, measureMs: 10, free: () => Promise.resolve(free) },
      measure: () => Promise.resolve(use),
      onMeasured: (found) => measured.push(found),
    });
    await expect.poll(() => told.at(-1)).toMatchObject({ state: 'live', detail: 'disk 3.0 GB: tables 3.0 GB; 9.0 GB free' });
    expect(measured[0]).toBe(use);
    free = 1e9;
    await expect.poll(() => told.at(-1)?.detail).toMatch(/^the data disk has 1\.0 GB left; disk 3\.0 GB/);
    free = 0.9e9;
    await expect.poll(() => told.at(-1)?.detail).toMatch(/^the data disk has 900 MB left/);
    free = 1_000;
    await expect.poll(() => told.at(-1)).toMatchObject({ state: 'waiting', detail: expect.stringContaining('is full') as unknown });
    expect(news).toEqual([false, true, false, true]);
  });

  it('lets only the owner read the addresses, because one may hold a password', () => {
    watch(folder).publish(services('run'));
    expect(statSync(servicesPath(folder)).mode & 0o777).toBe(0o600);
    chmodSync(servicesPath(folder), 0o644);
    own?.publish(services('again'));
    expect(statSync(servicesPath(folder)).mode & 0o777).toBe(0o600);
  });
});
