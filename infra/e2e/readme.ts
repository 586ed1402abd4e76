// Parses the commands in the README and in the guides on queries and Kafka, so that the tests run exactly those.
import { readFileSync } from 'node:fs';
import { blocksOf } from './blocks.ts';

const text = readFileSync('README.md', 'utf8');

const linesOf = (markdown: string): readonly string[] => blocksOf(markdown, 'sh').flatMap((block) => block.split('\n'));

const shell = linesOf(text);
const guide = linesOf(readFileSync('infra/docs/guides/queries.md', 'utf8'));

/** The queries passed to `turnstream sql`. */
export const queries: readonly string[] = [...shell, ...guide].flatMap((line) => /^npx turnstream sql -q "(.*)"$/.exec(line)?.[1] ?? []);

/** The lines that call curl. */
export const curls: readonly string[] = shell.filter((line) => line.startsWith('curl '));

/** The Python subscriber from its guide. */
export const subscriber: string = blocksOf(readFileSync('infra/docs/guides/subscribe.md', 'utf8'), 'python')[0] ?? '';
