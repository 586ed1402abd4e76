// Parses the changes that infra/docs/CONTRIBUTING.md describes step by step, so that a program can follow them.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One step: the change of one file. */
export interface GuideStep {
  readonly path: string;
  /** The file that a new file is copied from; empty if it is not a copy. */
  readonly copyOf: string;
  /** The whole text of a new file, or diffs of an existing one or of the copy. */
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
  /** The error of a check when the step is left out. */
  readonly missing: string;
}

export interface GuideChange {
  /** For example `Add a metric`. */
  readonly title: string;
  readonly steps: readonly GuideStep[];
}

const sectionsOf = (text: string, heading: RegExp): readonly string[] => text.split(heading).slice(1);

function stepOf(section: string): GuideStep {
  const path = /^\[?`([^`]+)`/.exec(section)?.[1] ?? '';
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));
  const missing = /^Without this step: `(.+)`$/m.exec(section)?.[1] ?? '';
  const copyOf = /\(new, a copy of \[?`([^`]+)`/.exec(section)?.[1] ?? '';
  return { path, copyOf, blocks, missing };
}

/** Every change in the guide, in order. */
export const guideChanges = (guide = readFileSync('infra/docs/CONTRIBUTING.md', 'utf8')): readonly GuideChange[] =>
  sectionsOf(guide, /^### (?=Add )/m).map((section) => ({
    title: section.slice(0, section.indexOf('\n')),
    steps: sectionsOf(section.split(/^## /m)[0] ?? '', /^\*\*\d+\. /m).map(stepOf),
  }));

/** Applies a diff to the text: its context and removed lines must occur exactly once, together. */
function applyDiff(text: string, diff: string): string {
  const lines = diff.split('\n').filter((line) => line !== '');
  const side = (left: string): string =>
    lines
      .filter((line) => line.startsWith(' ') || line.startsWith(left))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const before = side('-');
  const found = text.split(before).length - 1;
  if (found !== 1) throw new Error(`these lines occur ${found} times, not once:\n${before}`);
  return text.replace(before, () => side('+'));
}

/** Applies a step to the copy of the code at `root`. */
export function takeStep(root: string, step: GuideStep): void {
  const path = join(
    root,
    step.path.replace('NNNN', () => nextMigration(root)),
  );
  const isChange = step.blocks.every(({ language }) => language === 'diff');
  const text = isChange
    ? step.blocks.reduce(
        (changed, block) => applyDiff(changed, block.text),
        readFileSync(step.copyOf === '' ? path : join(root, step.copyOf), 'utf8'),
      )
    : (step.blocks[0]?.text ?? '');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function nextMigration(root: string): string {
  const numbers = readdirSync(join(root, 'infra/clickhouse/migrations')).map((name) => Number(name.slice(0, 4)) || 0);
  return String(Math.max(...numbers) + 1).padStart(4, '0');
}
