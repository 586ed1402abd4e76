// Weights that do not fit into a record: files named by their hash, under the data directory. A file is written under another name and
// renamed, so that it is never incomplete; the reader checks the hash.
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { WeightsStore } from '../../../consumers/trainer/checkpoints.ts';
import { replaceFile } from '../../lifecycle/replace-file.ts';

/** Keeps weights under `<dataDir>/weights`; their URIs are `file:` URLs. */
export function fileWeights(dataDir: string): WeightsStore {
  const dir = resolve(dataDir, 'weights');
  return {
    async put(sha256, bytes) {
      await mkdir(dir, { recursive: true });
      const path = join(dir, `${sha256}.bin`);
      await replaceFile(path, bytes, `${path}.${process.pid}`);
      return pathToFileURL(path).href;
    },
    get: readWeights,
  };
}

/** Reads the bytes at the URI of a published policy. */
export async function readWeights(uri: string): Promise<Buffer> {
  try {
    return await readFile(fileURLToPath(uri));
  } catch (cause) {
    throw new PlatformError(
      'WEIGHTS_MISMATCH',
      `reading weights from ${uri}: ${messageOf(cause)}; every role must see the data directory that they were written to`,
      { cause },
    );
  }
}
