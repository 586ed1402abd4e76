// The store as a role, and commands that start it temporarily. In a separate file, because a process can have only one engine.
import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command, commandWith, program } from '../../testing/up.ts';
import { readStorePassword } from '../../clickhouse/store/password.ts';
import { freePort, pings } from '../open/local-ports.ts';

describe('the store role', () => {
  let dataDir = '';
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'turnstream-store-'));
  });
  afterAll(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('serves until it is stopped, and its data is there for the commands after it', async () => {
    const port = String(await freePort());
    const env = { TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_STORE_PORT: port, TURNSTREAM_LOG_LEVEL: 'error' };
    const url = `http://127.0.0.1:${port}`;
    const host = new EventEmitter();
    const end = commandWith({ env, host }, ['store']);
    await expect.poll(() => pings(url)).toBe(true);
    const make = 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a AS SELECT 7 AS a';
    const headers = { 'X-ClickHouse-Key': readStorePassword(dataDir) ?? '' };
    expect((await fetch(url, { method: 'POST', body: 'CREATE DATABASE turnstream' })).status).toBe(403);
    expect((await fetch(url, { method: 'POST', headers, body: 'CREATE DATABASE turnstream' })).status).toBe(200);
    expect((await fetch(`${url}/?database=turnstream`, { method: 'POST', headers, body: make })).status).toBe(200);
    host.emit('SIGTERM', 'SIGTERM');
    expect(await end).toMatchObject({ code: 0, error: '' });
    expect(await pings(url)).toBe(false);
    const found = await command(env, 'sql', '--format', 'TSV', '-q', 'SELECT a FROM kept');
    expect(found).toMatchObject({ code: 0, out: '7\n', error: '' });
    const pipe = (input: string) =>
      spawnSync(process.execPath, [program, 'sql', '--format', 'TSV'], { env: { ...process.env, ...env }, input, encoding: 'utf8' });
    expect(pipe('SELECT a FROM kept\n')).toMatchObject({ status: 0, stdout: '7\n' });
    expect(pipe('\n')).toMatchObject({ status: 2, stderr: expect.stringContaining('give one query') as string });
    expect((await command(env, 'sql', '--format', 'TSV', '-q', 'SELECT count() FROM steps')).out).toBe('0\n');
    expect((await command(env, 'status')).out).toContain('no runs yet');
  });
});
