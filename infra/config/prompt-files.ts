// Users' own prompts: a folder of text files. Their hash is recorded with a run, so that runs with different prompts are never mistaken for
// one another.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';

const ENDING = '.txt';

/** Texts by file name without extension. Throws CONFIG_INVALID for a name that is not in `known`. */
export function readPromptFiles(folder: string, known: readonly string[]): Readonly<Record<string, string>> {
  const files = namesIn(folder);
  const strange = files.filter((file) => !known.includes(file.slice(0, -ENDING.length)));
  if (files.length === 0 || strange.length > 0) {
    const found = files.length === 0 ? 'there are none' : `there is ${strange.join(', ')}`;
    throw invalid(folder, `its files are ${known.map((name) => name + ENDING).join(', ')}, as many as are wanted; ${found}`);
  }
  return Object.fromEntries(files.map((file) => [file.slice(0, -ENDING.length), readFileSync(join(folder, file), 'utf8')]));
}

/** SHA-256 (hex) over names and texts. */
export function promptsHash(folder: string): string {
  const hash = createHash('sha256');
  for (const file of namesIn(folder))
    hash
      .update(`${file}\n`)
      .update(readFileSync(join(folder, file)))
      .update('\n');
  return hash.digest('hex');
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith(ENDING))
      .sort();
  } catch (cause) {
    throw invalid(folder, messageOf(cause), cause);
  }
}

const invalid = (folder: string, why: string, cause?: unknown): PlatformError =>
  new PlatformError('CONFIG_INVALID', `reading the prompts of TURNSTREAM_LLM_PROMPTS ${folder}: ${why}`, { cause });
