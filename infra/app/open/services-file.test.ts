import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { readServices, removeServices, servicesPath, writeServices } from './services-file.ts';
import { addressesForRole, withKnownAddresses } from './addresses.ts';

const services = {
  kafkaBrokers: ['127.0.0.1:19092'],
  clickhouseUrl: 'http://127.0.0.1:18123',
  apiUrl: 'http://127.0.0.1:18787',
  registryUrl: 'http://127.0.0.1:18787/registry',
  run: 'run-1',
  startedAt: '2026-01-01T00:00:00.000Z',
  processes: { trainer: 7 },
};

describe('services file', () => {
  let dataDir = '';
  beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'turnstream-services-'))));
  afterEach(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('is read back while its writer lives, and gone when it is removed', () => {
    expect(readServices(dataDir)).toBeUndefined();
    writeServices(dataDir, services);
    expect(readServices(dataDir)).toMatchObject({ ...services, pid: process.pid });
    removeServices(dataDir);
    expect(readServices(dataDir)).toBeUndefined();
  });

  it('is ignored when its writer is gone or its text is incomplete', () => {
    for (const text of [JSON.stringify({ ...services, pid: 2 ** 22 + 1, mark: '' }), '{"pid":', 'null', '[]']) {
      writeFileSync(servicesPath(dataDir), text);
      expect(readServices(dataDir)).toBeUndefined();
    }
  });

  it('fills in addresses that are not configured', () => {
    const config = loadConfig({ TURNSTREAM_DATA_DIR: dataDir, CLICKHOUSE_URL: 'http://elsewhere:8123' });
    expect(withKnownAddresses(config)).toEqual(config);
    writeServices(dataDir, services);
    expect(withKnownAddresses(config)).toMatchObject({ kafkaBrokers: ['127.0.0.1:19092'], clickhouseUrl: 'http://elsewhere:8123' });
  });

  it('tells a role which addresses are missing', () => {
    const config = loadConfig({ TURNSTREAM_DATA_DIR: dataDir });
    expect(() => addressesForRole(config, { kafka: true, store: true })).toThrow('KAFKA_BROKERS and CLICKHOUSE_URL are not set');
    expect(() => addressesForRole(config, { kafka: true, store: false })).toThrow('KAFKA_BROKERS is not set');
    writeServices(dataDir, services);
    expect(addressesForRole(config, { kafka: true, store: true }).kafkaBrokers).toEqual(['127.0.0.1:19092']);
  });
});
