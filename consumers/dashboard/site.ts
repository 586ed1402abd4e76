// The files of the dashboard that `npm run build` made, read and compressed once and served from memory.
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { pageFiles, type PagePath } from './app/shell/page-files.ts';
import { brotliCompress, constants, gzip } from 'node:zlib';

export interface SiteFile {
  readonly type: string;
  readonly body: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

export interface Site {
  /** The HTML document of every page. */
  readonly document: SiteFile;
  /** Scripts, styles, and fonts by file name. The name contains a hash of the contents. */
  readonly assets: ReadonlyMap<string, SiteFile>;
  /** Additional scripts of each page, by file name. */
  readonly scripts: ReadonlyMap<PagePath, readonly string[]>;
}

interface BuiltFile {
  readonly file: string;
  readonly imports?: readonly string[];
}
type BuildManifest = Readonly<Record<string, BuiltFile>>;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const packBrotli = promisify(brotliCompress);
const packGzip = promisify(gzip);

/** Undefined if the folder contains no dashboard. */
export async function readSite(folder: string): Promise<Site | undefined> {
  try {
    const document = await fileAt(join(folder, 'index.html'));
    const names = await readdir(join(folder, 'assets'));
    const assets = await Promise.all(names.map(async (name) => [name, await fileAt(join(folder, 'assets', name))] as const));
    return { document, assets: new Map(assets), scripts: scriptsOf(await manifestAt(join(folder, 'manifest.json'))) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Empty if the build made no manifest: then scripts are not preloaded. */
async function manifestAt(path: string): Promise<BuildManifest> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as BuildManifest;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}

const DOCUMENT = 'index.html';

/** The files of each page and their imports, without those that the document already loads. */
function scriptsOf(manifest: BuildManifest): ReadonlyMap<PagePath, readonly string[]> {
  const reached = (from: string, found: Set<string>): ReadonlySet<string> => {
    if (found.has(from)) return found;
    found.add(from);
    for (const next of manifest[from]?.imports ?? []) reached(next, found);
    return found;
  };
  const own = reached(DOCUMENT, new Set());
  return new Map(
    Object.entries(pageFiles).map(([path, name]) => {
      const files = [...reached(`pages/${name}.tsx`, new Set(own))]
        .filter((key) => !own.has(key))
        .flatMap((key) => manifest[key]?.file ?? []);
      return [path as PagePath, files];
    }),
  );
}

async function fileAt(path: string): Promise<SiteFile> {
  const body = await readFile(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  const [br, zipped] = await Promise.all([packBrotli(body, { params }), packGzip(body, { level: 9 })]);
  return { type: types[extname(path)] ?? 'application/octet-stream', body, br, gzip: zipped };
}
