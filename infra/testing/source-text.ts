// Searches the source text, for tests that detect unused names.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths that are not product code: tests, contracts, and the folders for benchmarks, test helpers, and tooling. */
const ASIDE = /\.(?:test|testing|contract)\.ts$|^infra\/(?:bench|e2e|testing|tooling)\//;

/** Paths of all product source files in `folders`. */
export const sourceFiles = (folders: readonly string[]): readonly string[] =>
  folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
    .filter((path) => path.endsWith('.ts') && !ASIDE.test(path));

/** The names that appear in quotes in no source file. */
export function namesNobodyUses(names: readonly string[], folders = ['streams', 'producers', 'consumers', 'infra']): readonly string[] {
  const text = sourceFiles(folders)
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  return names.filter((name) => !text.includes(`'${name}'`));
}
