// Saves the results of long benches, one per line: an interrupted bench resumes with the missing runs, as long as commit and settings are
// the same.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Environment } from './environment.ts';
import { say } from './local-bench.ts';

/** Measures unless a result with that key is saved. */
export type Keep = <T extends object>(key: Readonly<Record<string, unknown>>, measure: () => Promise<T>) => Promise<T>;

interface KeptLine {
  readonly key: string;
  readonly found: object;
}

export function keepRuns(path: string, commit: string): Keep {
  const lines = existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
  const kept = new Map(lines.map((line) => JSON.parse(line) as KeptLine).map(({ key, found }) => [key, found]));
  return async <T extends object>(given: Readonly<Record<string, unknown>>, measure: () => Promise<T>) => {
    const key = JSON.stringify({ commit, ...given });
    const known = kept.get(key);
    const found = known === undefined ? await measure() : (known as T);
    say(`${known === undefined ? 'measured' : 'kept'} ${key}: ${JSON.stringify(found)}`);
    if (known === undefined) {
      mkdirSync(dirname(path), { recursive: true });
      appendFileSync(path, `${JSON.stringify({ key, found })}\n`);
    }
    return found;
  };
}

/** Why results measured now cannot be published; empty when they can. */
export function unfit({ commit, loadBefore, cores }: Environment): readonly string[] {
  return [
    ...(commit.endsWith('with local changes') || commit === 'unknown'
      ? ['the tree has local changes, so the figures could not be reproduced']
      : []),
    ...(loadBefore > cores / 2 ? [`the load is ${loadBefore} on ${cores} cores: something else is running`] : []),
  ];
}
