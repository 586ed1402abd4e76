import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileWeights, readWeights } from './weights.ts';

describe('weights in files', () => {
  let dataDir = '';
  beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'turnstream weights-'))));
  afterEach(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('can be read from their URI again, also if the path contains a space', async () => {
    const weights = fileWeights(dataDir);
    const bytes = Buffer.from([1, 2, 3]);
    const uri = await weights.put('abc', bytes);
    expect(uri).toMatch(/^file:.*\/abc\.bin$/);
    expect(await weights.get(uri)).toEqual(bytes);
    expect(await weights.put('abc', bytes)).toBe(uri);
    const optimizer = await weights.put('def', Buffer.from([4]));
    expect(uri.replace('abc', 'def')).toBe(optimizer);
  });

  it('cannot be read from a missing file, or from a URI with another scheme', async () => {
    await expect(readWeights('file:///does/not/exist.bin')).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
    await expect(readWeights('s3://bucket/key')).rejects.toThrow('reading weights from s3://bucket/key');
  });
});
