// Hashes a user's module: its text and every file that it imports by a relative path, recursively. Packages and files that it reads at run
// time are not included.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';

const RELATIVE = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"`])(\.{1,2}\/[^'"`\n]+)\1/g;
const ENDINGS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.json', '/index.js', '/index.ts'] as const;

/** SHA-256. Paths are relative to the module, so its folder may move. Throws CONFIG_INVALID when the module cannot be read. */
export async function codeHash(path: string): Promise<string> {
  const entry = resolve(path);
  const text = await readFile(entry, 'utf8').catch((cause: unknown) => {
    throw new PlatformError('CONFIG_INVALID', `reading ${path}: ${messageOf(cause)}`, { cause });
  });
  const files = new Map([[entry, text]]);
  for (const [file, content] of files) {
    if (file.endsWith('.json')) continue;
    for (const [, , specifier = ''] of content.matchAll(RELATIVE)) {
      const found = await firstFile(join(dirname(file), specifier));
      if (found !== undefined && !files.has(found.path)) files.set(found.path, found.text);
    }
  }
  const named = [...files].map(([file, content]) => [relative(dirname(entry), file).split(sep).join('/'), content]).sort();
  return createHash('sha256').update(JSON.stringify(named)).digest('hex');
}

async function firstFile(base: string): Promise<{ readonly path: string; readonly text: string } | undefined> {
  for (const ending of ENDINGS) {
    const text = await readFile(base + ending, 'utf8').catch(() => undefined);
    if (text !== undefined) return { path: base + ending, text };
  }
  return undefined;
}
