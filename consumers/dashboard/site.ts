// The files of the dashboard as `npm run build` made them: read once, compressed once, served from memory.
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export interface SiteFile {
  readonly type: string;
  readonly body: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

export interface Site {
  /** The one document; it draws every page. */
  readonly document: SiteFile;
  /** Scripts, styles, and fonts by file name. A name has the hash of its content. */
  readonly assets: ReadonlyMap<string, SiteFile>;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const packBrotli = promisify(brotliCompress);
const packGzip = promisify(gzip);

/** Undefined when the folder holds no dashboard. */
export async function readSite(folder: string): Promise<Site | undefined> {
  try {
    const document = await fileAt(join(folder, 'index.html'));
    const names = await readdir(join(folder, 'assets'));
    const assets = await Promise.all(names.map(async (name) => [name, await fileAt(join(folder, 'assets', name))] as const));
    return { document, assets: new Map(assets) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function fileAt(path: string): Promise<SiteFile> {
  const body = await readFile(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
  const [br, zipped] = await Promise.all([packBrotli(body, { params }), packGzip(body, { level: 9 })]);
  return { type: types[extname(path)] ?? 'application/octet-stream', body, br, gzip: zipped };
}
