// The commands in the guides exist, and so do their flags and values.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { blocksOf } from '../e2e/blocks.ts';
import { topicPlanOf } from '../kafka/topics/topics.ts';
import { buildProgram } from './main.ts';

const folder = join(process.cwd(), 'infra', 'docs', 'guides');
const context = { env: {}, program: '', out: () => undefined, err: () => undefined, bytes: async () => undefined, exit: () => undefined };

/** Every line of a shell block that calls turnstream, including its continuation lines. */
function linesOf(guide: string): readonly string[] {
  const text = readFileSync(join(folder, guide), 'utf8');
  const blocks = blocksOf(text, 'sh').map((block) => block.replace(/\\\n\s*/g, ' '));
  return blocks.flatMap((block) => block.split('\n')).flatMap((line) => /(?:^|\s)(turnstream .*)$/.exec(line)?.[1] ?? []);
}

const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/'[^']*'|"[^"]*"|\S+/g)].map(([word]) => word.replace(/^['"]|['"]$/g, '')).slice(1);

const root = await buildProgram(context);

/** The command with this name. */
function called(words: readonly string[]): Command {
  let command: Command = root;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) break;
    command = next;
  }
  return command;
}

const guides = [...readdirSync(folder), '../CONTRIBUTING.md'];
const calls = guides.flatMap((guide) => linesOf(guide).map((line) => [guide, line] as const));

describe('the guides', () => {
  it('call the program', () => {
    for (const guide of ['grow-questions.md', 'evaluate-a-checkpoint.md', 'export.md'])
      expect(calls.map(([name]) => name)).toContain(guide);
  });
  it('name every topic', () => {
    const text = readFileSync(join(folder, 'subscribe.md'), 'utf8');
    const names = topicPlanOf(loadConfig({})).map(({ topic }) => topic);
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
  it.each(calls)('%s: `%s`', (_, line) => {
    const words = wordsOf(line.replace(/\s[|>&;].*$/, ''));
    const command = called(words);
    expect(command.name()).not.toBe('turnstream');
    for (const word of words.filter((one) => /^--?[a-z]/.test(one))) {
      const [flag = ''] = word.split('=');
      expect(
        command.options.flatMap(({ long, short }) => [long, short]),
        `${command.name()} ${flag}`,
      ).toContain(flag);
    }
  });
});
