import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { weights } from './index.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weights of a client '));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

it('reads and hashes a file', async () => {
  const file = join(folder, 'v1.safetensors');
  writeFileSync(file, 'weights');
  const uri = pathToFileURL(file).href;
  const found = { uri, sha256: sha256('weights'), bytes: 7 };
  expect(await weights(uri, { loadable: false })).toEqual({ ...found, format: 'hf-safetensors', loadable: false });
  expect(await weights(uri, { format: 'mine' })).toEqual({ ...found, format: 'mine' });
});

it('hashes a folder by the names and hashes of its files', async () => {
  mkdirSync(join(folder, 'b'));
  writeFileSync(join(folder, 'b', 'two'), 'of two');
  writeFileSync(join(folder, 'adapter_config.json'), '{}');
  const manifest = [
    { name: 'adapter_config.json', sha256: sha256('{}') },
    { name: 'b/two', sha256: sha256('of two') },
  ];
  const whole = sha256(`${sha256('{}')}  adapter_config.json\n${sha256('of two')}  b/two\n`);
  const uri = pathToFileURL(folder).href;
  expect(await weights(uri)).toEqual({ uri, sha256: whole, bytes: 8, manifest, format: 'peft-lora' });
});

it('takes the hash and the format of weights that are elsewhere', async () => {
  const given = { sha256: 'ab', format: 'gguf' };
  expect(await weights('s3://w/1', given)).toEqual({ uri: 's3://w/1', ...given });
  await expect(weights('s3://w/1', { format: 'gguf' })).rejects.toThrow('weights s3://w/1: they cannot be read from here');
  await expect(weights(pathToFileURL(join(folder, 'none')).href)).rejects.toThrow('pass sha256 and format');
  writeFileSync(join(folder, 'v1.bin'), '');
  await expect(weights(pathToFileURL(join(folder, 'v1.bin')).href)).rejects.toThrow('pass format');
});
