// Weights behind URIs: they are used only if they are the ones that were published.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createWeightsReader, type NamedFiles, type WeightsReader } from './weights-reader.ts';

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const never = new AbortController().signal;
const SECRET = 'signature=s3cret';

/** Response of each path: a buffer is the content, a number is a status, a string is a redirect. */
const served = new Map<string, Buffer | number | string>();
const asked: string[] = [];
const server = createServer((request, response) => {
  const path = (request.url ?? '').split('?')[0] ?? '';
  asked.push(request.url ?? '');
  const found = served.get(decodeURIComponent(path)) ?? 404;
  if (typeof found === 'number') response.writeHead(found).end();
  else if (typeof found === 'string') response.writeHead(302, { location: found }).end();
  else response.writeHead(200).end(found);
});
let host = '';
let folder = '';
let reader: WeightsReader;
const opened: WeightsReader[] = [];

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
beforeEach(() => {
  served.clear();
  asked.length = 0;
  folder = mkdtempSync(join(tmpdir(), 'turnstream weights-'));
  reader = open([host]);
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(allowed: readonly string[], maxBytes = 1_000_000): WeightsReader {
  const made = createWeightsReader({ allowed, maxBytes, timeoutMs: 5_000, folder: join(folder, 'kept') });
  opened.push(made);
  return made;
}

/** Writes a folder and describes it as the client for Python does. */
function folderOf(files: Readonly<Record<string, string>>): NamedFiles {
  const home = mkdtempSync(join(folder, 'v-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
    served.set(`/w/${name}`, Buffer.from(text));
  }
  const manifest = Object.entries(files).map(([name, text]) => ({ name, sha256: sha256(text) }));
  return { uri: pathToFileURL(home).href, sha256: sha256(manifest.map((file) => `${file.sha256}  ${file.name}\n`).join('')), manifest };
}

function fileOf(text: string): NamedFiles {
  const path = join(folder, 'v1.safetensors');
  writeFileSync(path, text);
  served.set('/v1.safetensors', Buffer.from(text));
  return { uri: pathToFileURL(path).href, sha256: sha256(text), manifest: [] };
}

const overHttp = (weights: NamedFiles): NamedFiles => ({
  ...weights,
  uri: `http://${host}/${weights.manifest.length > 0 ? 'w' : 'v1.safetensors'}?${SECRET}`,
});

describe('weights', () => {
  it('in a file or a folder are read where they are', async () => {
    const [file, whole] = [fileOf('weights'), folderOf({ 'a.safetensors': 'a', 'sub folder/b': 'b' })];
    expect(await reader.check(file, never)).toEqual({ path: join(folder, 'v1.safetensors'), isChecked: true });
    expect((await reader.check(whole, never)).isChecked).toBe(true);
    expect((await reader.read(file.uri)).toString()).toBe('weights');
  });

  it('on a server are downloaded and checked, with the query of the URI for each file', async () => {
    const whole = overHttp(folderOf({ 'a.safetensors': 'a', 'sub folder/b': 'b' }));
    const { path } = await reader.check(whole, never);
    expect(['a.safetensors', 'sub folder/b'].map((name) => readFileSync(join(path, name), 'utf8'))).toEqual(['a', 'b']);
    expect(asked).toEqual([`/w/a.safetensors?${SECRET}`, `/w/sub%20folder/b?${SECRET}`]);
    expect(await reader.check(whole, never)).toEqual({ path, isChecked: true });
    expect(asked.length, 'what is there is not fetched again').toBe(2);
    writeFileSync(join(path, 'a.safetensors'), 'b');
    expect((await reader.check(whole, never)).path).toBe(path);
    expect(readFileSync(join(path, 'a.safetensors'), 'utf8')).toBe('a');
    const single = await reader.check(overHttp(fileOf('weights')), never);
    expect(readFileSync(single.path, 'utf8')).toBe('weights');
    expect((await reader.read(`http://${host}/v1.safetensors`)).toString()).toBe('weights');
  });

  it('are kept for the last two versions that were used', async () => {
    const kept = join(folder, 'kept');
    const use = (text: string): Promise<unknown> => reader.check(overHttp(fileOf(text)), never);
    for (const text of ['1', '2', '3', '4']) await use(text);
    expect(readdirSync(kept).sort()).toEqual([sha256('3'), sha256('4')].sort());
    const past = new Date(Date.now() - 60_000);
    utimesSync(join(kept, sha256('3')), past, past);
    await use('3');
    await use('5');
    expect(readdirSync(kept).sort()).toEqual([sha256('3'), sha256('5')].sort());
  });

  it('are kept beside the downloads of other processes; what an ended process left behind is deleted', async () => {
    const kept = join(folder, 'kept');
    const [running, ended] = [`${sha256('a')}.${process.ppid}`, `${sha256('b')}.4194304`];
    for (const name of [running, ended]) mkdirSync(join(kept, name), { recursive: true });
    await reader.check(overHttp(fileOf('1')), never);
    expect(readdirSync(kept).sort()).toEqual([running, sha256('1')].sort());
  });

  it('are found behind a redirect', async () => {
    const weights = overHttp(fileOf('weights'));
    served.set('/moved', '/v1.safetensors');
    expect((await reader.check({ ...weights, uri: `http://${host}/moved` }, never)).isChecked).toBe(true);
    served.set('/moved', '/moved');
    await expect(reader.check({ ...weights, sha256: sha256('x'), uri: `http://${host}/moved` }, never)).rejects.toMatchObject({
      code: 'WEIGHTS_MISMATCH',
    });
  });

  it('with another scheme are passed on unread', async () => {
    const uri = 's3://bucket/key';
    expect(await reader.check({ uri, sha256: '0'.repeat(64), manifest: [] }, never)).toEqual({ path: uri, isChecked: false });
    await expect(reader.read(uri)).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH', message: /s3:\/\/bucket\/key/ });
  });

  it('with any byte changed, in a file or in the manifest, are refused', async () => {
    const bytes = fc.string({ minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 4 }), fc.nat(), fc.boolean(), async (texts, at, remotely) => {
        const whole = folderOf(Object.fromEntries(texts.map((text, i) => [`f${i}`, text])));
        const weights = remotely ? overHttp(whole) : whole;
        const name = `f${at % texts.length}`;
        const other = whole.manifest.map((file) => (file.name === name ? { ...file, sha256: sha256('other') } : file));
        await expect(reader.check({ ...weights, manifest: other }, never)).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
        const changed = `${texts[at % texts.length] ?? ''}!`;
        writeFileSync(join(new URL(whole.uri).pathname.replaceAll('%20', ' '), name), changed);
        served.set(`/w/${name}`, Buffer.from(changed));
        await expect(reader.check(weights, never)).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
      }),
      { numRuns: 20 },
    );
    expect(readdirSync(join(folder, 'kept'), { recursive: true }), 'nothing is left of them').toEqual([]);
  });

  it.each(['../up', '/etc/passwd', 'a/../../b', '.', '', 'a//b', 'a\\b', 'c:x'])('are refused with %j in the manifest', async (name) => {
    const manifest = [{ name, sha256: sha256('a') }];
    const weights = { uri: `http://${host}/w`, manifest, sha256: sha256(`${sha256('a')}  ${name}\n`) };
    await expect(reader.check(weights, never)).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
    expect(asked).toEqual([]);
  });

  it('larger than the limit, or a folder without a manifest, are refused', async () => {
    await expect(open([host], 10).check(fileOf('12345678901'), never)).rejects.toThrow(/more than 10 bytes/);
    await expect(open([host], 10).check(overHttp(fileOf('12345678901')), never)).rejects.toThrow(/more than 10 bytes/);
    const two = folderOf({ a: '123456', b: '123456' });
    await expect(open([host], 10).check(two, never)).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
    await expect(reader.check({ ...two, manifest: [] }, never)).rejects.toThrow(/published without a manifest/);
    await expect(reader.check({ ...fileOf('a'), sha256: '../x' }, never)).rejects.toThrow(/is no SHA-256/);
  });

  it.each([404, 403, 429, 503])('behind HTTP %i are unavailable for now, and the error hides their query', async (status) => {
    const weights = overHttp(fileOf('weights'));
    served.set('/v1.safetensors', status);
    const error: unknown = await reader.check(weights, never).catch((refused: unknown) => refused);
    expect(error).toMatchObject({ code: 'WEIGHTS_UNAVAILABLE' });
    expect(String(error)).not.toContain(SECRET);
  });

  it('that do not exist yet are unavailable for now', async () => {
    const weights = fileOf('weights');
    rmSync(join(folder, 'v1.safetensors'));
    await expect(reader.check(weights, never)).rejects.toMatchObject({ code: 'WEIGHTS_UNAVAILABLE' });
  });

  it('at a private address are read only where that is allowed', async () => {
    const weights = overHttp(fileOf('weights'));
    await expect(open([]).check(weights, never)).rejects.toThrow(/not a public address/);
    const named = createWeightsReader({
      ...{ allowed: [], maxBytes: 100, timeoutMs: 5_000, folder },
      resolve: (_name, _options, done) => {
        done(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    opened.push(named);
    await expect(named.read('http://weights.example/v1')).rejects.toThrow(/not a public address/);
    expect(asked).toEqual([]);
  });
});
