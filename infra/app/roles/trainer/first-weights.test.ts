import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { createWeightsReader } from '../../../web/weights-reader.ts';
import { firstWeights } from './first-weights.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let folder = '';
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'turnstream first-'))));
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const config = (env: Readonly<Record<string, string>>) =>
  loadConfig({
    ...{ TURNSTREAM_DATA_DIR: folder, TURNSTREAM_TRAINER: 'external', TURNSTREAM_POLICY: 'llm' },
    ...{ TURNSTREAM_LLM_URL: 'http://a.example/v1', TURNSTREAM_LLM_MODEL: 'm', ...env },
  });

describe('the weights that a run begins with', () => {
  it('have the hash of their file, and are rejected if another one is configured', async () => {
    const path = join(folder, 'warm.safetensors');
    writeFileSync(path, 'warm');
    const uri = pathToFileURL(path).href;
    expect(await firstWeights(config({ TURNSTREAM_INITIAL_POLICY_URI: uri }), 'run-a')).toEqual({
      ...{ uri, sha256: sha256('warm'), format: 'hf-safetensors', manifest: [] },
    });
    const wrong = { TURNSTREAM_INITIAL_POLICY_URI: uri, TURNSTREAM_INITIAL_POLICY_SHA256: sha256('cold') };
    await expect(firstWeights(config(wrong), 'run-a')).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
  });

  it('may be a folder, with a manifest that passes the check', async () => {
    const home = join(folder, 'warm');
    mkdirSync(join(home, 'sub folder'), { recursive: true });
    for (const name of ['model.safetensors', 'config.json', 'sub folder/x']) writeFileSync(join(home, name), name);
    const given = await firstWeights(config({ TURNSTREAM_INITIAL_POLICY_URI: pathToFileURL(home).href }), 'run-a');
    expect(given.manifest?.map(({ name }) => name)).toEqual(['config.json', 'model.safetensors', 'sub folder/x']);
    const reader = createWeightsReader({ allowed: [], maxBytes: 1_000, timeoutMs: 1_000, folder: join(folder, 'kept') });
    const named = { ...given, manifest: [...(given.manifest ?? [])] };
    expect(await reader.check(named, new AbortController().signal)).toEqual({ path: home, isChecked: true });
    await reader.close();
  });

  it('may be a folder of links, as in the cache of Hugging Face', async () => {
    const [blobs, snapshot] = [join(folder, 'blobs'), join(folder, 'snapshots', 'a1')];
    for (const one of [blobs, snapshot]) mkdirSync(one, { recursive: true });
    for (const name of ['config.json', 'model.safetensors']) {
      writeFileSync(join(blobs, sha256(name)), name);
      symlinkSync(join('..', '..', 'blobs', sha256(name)), join(snapshot, name));
    }
    const env = { TURNSTREAM_INITIAL_POLICY_URI: pathToFileURL(snapshot).href };
    const { manifest } = await firstWeights(config(env), 'run-a');
    expect(manifest).toEqual(['config.json', 'model.safetensors'].map((name) => ({ name, sha256: sha256(name) })));
    symlinkSync(join(blobs, 'gone'), join(snapshot, 'tokenizer.json'));
    await expect(firstWeights(config(env), 'run-a')).rejects.toThrow(/tokenizer\.json/);
  });

  it('cannot be a folder without files', async () => {
    const home = join(folder, 'warm');
    mkdirSync(join(home, 'inner'), { recursive: true });
    const given = firstWeights(config({ TURNSTREAM_INITIAL_POLICY_URI: pathToFileURL(home).href }), 'run-a');
    await expect(given).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH', message: expect.stringContaining('has no files') as string });
  });

  it('that this process cannot read are passed on with their hash, which must be configured', async () => {
    const TURNSTREAM_INITIAL_POLICY_URI = 's3://bucket/warm';
    expect(() => config({ TURNSTREAM_INITIAL_POLICY_URI })).toThrow(/needs TURNSTREAM_INITIAL_POLICY_SHA256/);
    const hash = sha256('warm');
    expect(await firstWeights(config({ TURNSTREAM_INITIAL_POLICY_URI, TURNSTREAM_INITIAL_POLICY_SHA256: hash }), 'run-a')).toEqual({
      uri: TURNSTREAM_INITIAL_POLICY_URI,
      sha256: hash,
      format: 'hf-safetensors',
    });
  });

  it('cannot be configured for the ranker', () => {
    const env = { TURNSTREAM_POLICY: 'ranker', TURNSTREAM_INITIAL_POLICY_URI: 'file:///w' };
    expect(() => config(env)).toThrow(/TURNSTREAM_POLICY other than ranker/);
  });
});
