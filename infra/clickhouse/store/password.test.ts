import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureStorePassword, passwordForUrl, readStorePassword, storePasswordPath } from './password.ts';

let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'turnstream-test-password-'));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});
const mode = (): number => statSync(storePasswordPath(dataDir)).mode & 0o777;

describe('the password of the store', () => {
  it('is made once, is long, and is readable by its owner only', () => {
    expect(readStorePassword(dataDir)).toBeUndefined();
    const made = ensureStorePassword(dataDir);
    expect(made).toMatch(/^[\w-]{32}$/);
    expect(mode()).toBe(0o600);
    expect([ensureStorePassword(dataDir), readStorePassword(dataDir)]).toEqual([made, made]);
    chmodSync(storePasswordPath(dataDir), 0o644);
    ensureStorePassword(dataDir);
    expect(mode()).toBe(0o600);
  });

  it('is replaced by the configured password once one is set', () => {
    ensureStorePassword(dataDir);
    expect(ensureStorePassword(dataDir, 'mine')).toBe('mine');
    expect([ensureStorePassword(dataDir), mode()]).toEqual(['mine', 0o600]);
  });

  it('is sent only to the store of its own directory', () => {
    const made = ensureStorePassword(dataDir);
    expect(passwordForUrl(dataDir, 'http://127.0.0.1:8123')).toBeUndefined();
    writeFileSync(join(dataDir, 'store', 'port'), '8123\n');
    expect(passwordForUrl(dataDir, 'http://127.0.0.1:8123')).toBe(made);
    expect(passwordForUrl(dataDir, 'http://localhost:8123/')).toBe(made);
    for (const url of ['', 'http://127.0.0.1:8124', 'http://clickhouse:8123', 'https://example.org'])
      expect(passwordForUrl(dataDir, url)).toBeUndefined();
  });
});
