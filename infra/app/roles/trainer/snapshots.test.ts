import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileSnapshots } from './snapshots.ts';

let dataDir = '';
beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'turnstream-snapshots-'))));
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

it('keeps the newest snapshot of each run, whatever its name, until it is removed', async () => {
  const [one, other] = [fileSnapshots(dataDir, '../one'), fileSnapshots(dataDir, 'one')];
  expect(await one.read()).toBeUndefined();
  await one.write(Buffer.from('first'));
  await one.write(Buffer.from('second'));
  await other.write(Buffer.from('other'));
  expect((await one.read())?.toString()).toBe('second');
  await one.remove();
  await one.remove();
  expect(await one.read()).toBeUndefined();
  expect((await other.read())?.toString()).toBe('other');
});
