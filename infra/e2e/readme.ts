// What the README tells people to type, so that the tests type the same.
import { readFileSync } from 'node:fs';
import { blocksOf } from './blocks.ts';

const text = readFileSync('README.md', 'utf8');

const shell = blocksOf(text, 'sh').flatMap((block) => block.split('\n'));

/** The queries of `turnstream sql`. */
export const queries: readonly string[] = shell.flatMap((line) => /^npx turnstream sql -q "(.*)"$/.exec(line)?.[1] ?? []);

/** The lines that call curl. */
export const curls: readonly string[] = shell.filter((line) => line.startsWith('curl '));

/** The subscriber. */
export const subscriber: string = blocksOf(text, 'python')[0] ?? '';
