// Reads weights from the URIs of policies, and checks them against their published hashes. `file:` and `http(s):` are read as a stream; any
// other scheme is passed on unread. A folder has a manifest with the hash of each file, and its own hash is that of the lines `<sha256>
// <name>` of the manifest. Downloads are kept in a folder named after their hash, so that the files that were checked are the ones that are
// loaded.
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { PolicyPublished } from '../../schemas/generated/events.ts';
import { processAlive } from '../lifecycle/process-alive.ts';
import { createGuardedAgent, type GuardOptions } from './guarded-agent.ts';
import { bytesOf, isReadable, mismatch, type SourceLimits } from './weights-source.ts';

export type NamedFiles = Pick<PolicyPublished, 'uri' | 'sha256' | 'manifest'>;

export interface WeightsReaderOptions {
  /** `host:port` of private services that may be read from, as written in the URI. */
  readonly allowed: readonly string[];
  readonly maxBytes: number;
  /** Maximum time without data from a server, ms. */
  readonly timeoutMs: number;
  /** Folder for downloads. */
  readonly folder: string;
  readonly resolve?: GuardOptions['resolve'];
}

interface CheckedWeights {
  /** Path for programs on this machine, or the URI if it was passed on. */
  readonly path: string;
  /** False for a URI that was passed on. */
  readonly isChecked: boolean;
}

export interface WeightsReader {
  /** Reads one file in full, without a check. */
  read(uri: string): Promise<Buffer>;
  /** Throws WEIGHTS_MISMATCH if a hash differs, and WEIGHTS_UNAVAILABLE if the weights cannot be read now. */
  check(weights: NamedFiles, signal: AbortSignal): Promise<CheckedWeights>;
  /** Computes the current hashes of a `file:` URI: of a file, or of a folder and its files. */
  describe(uri: string): Promise<NamedFiles>;
  close(): Promise<void>;
}

/** Number of versions whose downloads are kept, because an engine may still be loading the previous one. */
const KEPT = 2;

export function createWeightsReader(options: WeightsReaderOptions): WeightsReader {
  const { allowed, maxBytes, timeoutMs, folder, resolve } = options;
  const guard = { allowed: new Set(allowed), connectTimeoutMs: timeoutMs };
  const dispatcher = createGuardedAgent(resolve === undefined ? guard : { ...guard, resolve });
  const limits = { maxBytes, dispatcher, timeoutMs };
  return {
    async read(uri) {
      const chunks: Buffer[] = [];
      for await (const chunk of bytesOf(uri, limits)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    async check(weights, signal) {
      const { uri } = weights;
      if (!isReadable(uri)) return { path: uri, isChecked: false };
      const within = { ...limits, signal };
      if (!uri.startsWith('file:')) return { path: await keep(weights, folder, within), isChecked: true };
      await checkFiles(weights, within);
      return { path: fileURLToPath(uri), isChecked: true };
    },
    describe: (uri) => describe(uri, limits),
    close: () => dispatcher.close(),
  };
}

interface NamedFile {
  /** Empty if the weights are a single file. */
  readonly name: string;
  readonly uri: string;
  readonly sha256: string;
}

const HASH = /^[0-9a-f]{64}$/;

/** A relative path without special parts such as `..`. */
const isInside = (name: string): boolean =>
  !name.includes('\\') && !name.includes(':') && name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

function filesOf({ uri, sha256, manifest }: NamedFiles): readonly NamedFile[] {
  if (!HASH.test(sha256)) throw mismatch(uri, `published with the hash ${JSON.stringify(sha256.slice(0, 80))}, which is no SHA-256`);
  if (manifest.length === 0) return [{ name: '', uri, sha256 }];
  const outside = manifest.find(({ name }) => !isInside(name));
  if (outside !== undefined) throw mismatch(uri, `its manifest names ${JSON.stringify(outside.name)}, which is not a file in it`);
  const whole = hashOfManifest(manifest);
  if (whole !== sha256) throw mismatch(uri, `the manifest hashes to ${whole}, published as ${sha256}`);
  return manifest.map((file) => ({ ...file, uri: within(uri, file.name) }));
}

/** The URI of a file in a folder; the query of the folder's URI applies to each file. */
function within(uri: string, name: string): string {
  const url = new URL(uri);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${name.split('/').map(encodeURIComponent).join('/')}`;
  return url.href;
}

/** Reads every file; `to` returns the path to write one to, if any. */
async function checkFiles(weights: NamedFiles, limits: SourceLimits, to?: (file: NamedFile) => string): Promise<void> {
  let left = limits.maxBytes;
  for (const file of filesOf(weights)) {
    const hash = createHash('sha256');
    const target = to?.(file);
    const read = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of bytesOf(file.uri, { ...limits, maxBytes: left })) {
        hash.update(chunk);
        left -= chunk.length;
        yield chunk;
      }
    };
    if (target === undefined) await drained(read());
    else await written(read(), target);
    const found = hash.digest('hex');
    if (found !== file.sha256) throw mismatch(file.uri, `sha256 ${found}, published as ${file.sha256}`);
  }
}

async function describe(uri: string, limits: SourceLimits): Promise<NamedFiles> {
  const names = await namesIn(fileURLToPath(uri));
  if (names === undefined) return { uri, sha256: await hashOf(uri, limits), manifest: [] };
  if (names.length === 0) throw mismatch(uri, 'the folder has no files; name the folder that the weights are in');
  const manifest: NamedFiles['manifest'][number][] = [];
  for (const name of names) manifest.push({ name, sha256: await hashOf(within(uri, name), limits) });
  return { uri, sha256: hashOfManifest(manifest), manifest };
}

/** The files of a folder; undefined if it is not a folder. Links are followed: the cache of Hugging Face has links only. */
async function namesIn(path: string): Promise<readonly string[] | undefined> {
  const names = await readdir(path, { recursive: true }).catch(() => undefined);
  if (names === undefined) return undefined;
  const files: string[] = [];
  for (const name of names) {
    // a broken link stays in the list, so that reading it fails
    const isFile = await stat(join(path, name)).then(
      (found) => found.isFile(),
      () => true,
    );
    if (isFile) files.push(name.split(sep).join('/'));
  }
  return files.sort();
}

async function hashOf(uri: string, limits: SourceLimits): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytesOf(uri, limits)) hash.update(chunk);
  return hash.digest('hex');
}

const hashOfManifest = (manifest: NamedFiles['manifest']): string =>
  createHash('sha256')
    .update(manifest.map((file) => `${file.sha256}  ${file.name}\n`).join(''))
    .digest('hex');

async function drained(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of bytes);
}

async function written(bytes: AsyncIterable<Buffer>, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await pipeline(Readable.from(bytes, { objectMode: false }), createWriteStream(path));
}

/** Downloads to a temporary folder that is then renamed, so that a folder is never incomplete. Existing files are read again. */
async function keep(weights: NamedFiles, folder: string, limits: SourceLimits): Promise<string> {
  filesOf(weights);
  const home = join(folder, weights.sha256);
  const single = weights.manifest.length === 0 ? basename(new URL(weights.uri).pathname) || 'weights' : '';
  const path = join(home, single);
  try {
    await checkFiles({ ...weights, uri: pathToFileURL(path).href }, limits);
    await utimes(home, new Date(), new Date()).catch(() => undefined);
    return path;
  } catch {
    limits.signal?.throwIfAborted();
  }
  const beside = `${home}.${process.pid}`;
  try {
    await checkFiles(weights, limits, ({ name }) => join(beside, name === '' ? single : name));
    await rm(home, { recursive: true, force: true });
    await rename(beside, home);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
  await forgetOthers(folder);
  return path;
}

/** Keeps the versions that were used last, and the downloads of running processes. */
async function forgetOthers(folder: string): Promise<void> {
  const names = await readdir(folder);
  const isDownloading = (name: string): boolean => processAlive(Number(name.split('.')[1]));
  const left = names.filter((name) => !HASH.test(name) && !isDownloading(name));
  const whole = await Promise.all(
    names.filter((name) => HASH.test(name)).map(async (name) => ({ name, usedMs: (await stat(join(folder, name))).mtimeMs })),
  );
  const old = whole.sort((a, b) => b.usedMs - a.usedMs).slice(KEPT);
  for (const name of [...left, ...old.map((one) => one.name)]) await rm(join(folder, name), { recursive: true, force: true });
}
