// Describes the weights of a version for a commit: URI, hash, and format.

/** Weights of a version. */
export interface Weights {
  readonly uri: string;
  readonly sha256: string;
  readonly format: string;
  readonly bytes?: number;
  /** False: engines cannot load them from the URI, because the trainer pushes them. */
  readonly loadable?: boolean;
  readonly manifest?: readonly { readonly name: string; readonly sha256: string }[];
}

type GivenWeights = Partial<Pick<Weights, 'sha256' | 'format' | 'bytes' | 'loadable'>>;

/** Undefined in a browser. Static imports would keep bundlers from using this client in one. */
const modules =
  typeof process === 'undefined' || !('getBuiltinModule' in process)
    ? undefined
    : {
        crypto: process.getBuiltinModule('node:crypto'),
        fs: process.getBuiltinModule('node:fs'),
        path: process.getBuiltinModule('node:path'),
        url: process.getBuiltinModule('node:url'),
      };
type NodeModules = NonNullable<typeof modules>;

const formatOf = (name: string): string | undefined =>
  name.endsWith('.safetensors') ? 'hf-safetensors' : name.endsWith('.gguf') ? 'gguf' : undefined;

/** Describes weights. In Node, a file or folder at a `file:` URI is read and hashed; other URIs need `sha256` and `format`. */
export async function weights(uri: string, given: GivenWeights = {}): Promise<Weights> {
  const { sha256, format } = given;
  if (sha256 !== undefined && format !== undefined) return { uri, ...given, sha256, format };
  const found = sha256 === undefined && modules !== undefined ? await read(modules, uri) : undefined;
  if (found === undefined) throw new TypeError(`describing the weights ${uri}: they cannot be read from here, so pass sha256 and format`);
  const kind = format ?? found.format;
  if (kind === undefined) throw new TypeError(`describing the weights ${uri}: the name does not determine the format, so pass format`);
  return { uri, ...found, ...given, format: kind };
}

type FoundWeights = Pick<Weights, 'sha256' | 'bytes' | 'manifest'> & { readonly format: string | undefined };

/** Undefined if there is no such file on this machine. */
async function read(node: NodeModules, uri: string): Promise<FoundWeights | undefined> {
  if (!uri.startsWith('file:')) return undefined;
  const path = node.url.fileURLToPath(uri);
  const info = await node.fs.promises.stat(path).catch(() => undefined);
  if (info === undefined) return undefined;
  return info.isDirectory() ? readFolder(node, path) : { sha256: await hashOf(node, path), bytes: info.size, format: formatOf(path) };
}

/** The hash of a folder is that of the lines `<sha256>  <name>` of its files. */
async function readFolder(node: NodeModules, folder: string): Promise<FoundWeights> {
  const { fs, path, crypto } = node;
  const manifest: { name: string; sha256: string }[] = [];
  let bytes = 0;
  for (const name of (await fs.promises.readdir(folder, { recursive: true })).sort()) {
    const file = path.join(folder, name);
    const info = await fs.promises.stat(file);
    if (!info.isFile()) continue;
    bytes += info.size;
    manifest.push({ name: name.split(path.sep).join('/'), sha256: await hashOf(node, file) });
  }
  const lines = manifest.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('');
  const format = manifest.some(({ name }) => name === 'adapter_config.json') ? 'peft-lora' : 'hf-safetensors';
  return { sha256: crypto.createHash('sha256').update(lines).digest('hex'), bytes, manifest, format };
}

async function hashOf({ crypto, fs }: NodeModules, path: string): Promise<string> {
  const hash = crypto.createHash('sha256');
  for await (const chunk of fs.createReadStream(path) as AsyncIterable<Uint8Array>) hash.update(chunk);
  return hash.digest('hex');
}
