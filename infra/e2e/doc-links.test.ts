// Links in the documents lead to existing files and headings; a link whose text is a code identifier leads to a file that contains it.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const documents = [
  'README.md',
  ...readdirSync('infra/docs', { recursive: true, encoding: 'utf8' })
    .map((path) => join('infra/docs', path))
    .filter((path) => path.endsWith('.md')),
];

/** Converts headings to anchors like GitHub. */
const anchorsOf = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );

const withoutCode = (markdown: string): string => markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '');

/** The problem with a link; undefined when there is none. */
function wrongWith(document: string, text: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? document : join(dirname(document), decodeURIComponent(path));
  if (!existsSync(file)) return `${target}: there is no ${file}`;
  if (anchor !== undefined && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor)) return `${target}: ${file} has no such heading`;
  const name = /^`(\w+)`$/.exec(text)?.[1];
  if (name === undefined || !statSync(file).isFile()) return undefined;
  return new RegExp(`\\b${name}\\b`).test(readFileSync(file, 'utf8')) ? undefined : `${target}: ${file} does not have ${name}`;
}

describe('the links of', () => {
  it.each(documents)('%s lead somewhere', (document) => {
    const links = [...withoutCode(readFileSync(document, 'utf8')).matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)];
    const wrong = links
      .filter(([, , target = '']) => !/^[a-z]+:/.test(target))
      .flatMap(([, text = '', target = '']) => wrongWith(document, text, target) ?? []);
    expect(wrong).toEqual([]);
  });

  it('architecture.md and CONTRIBUTING.md are links to code', () => {
    const text = readFileSync('infra/docs/architecture.md', 'utf8');
    expect([...text.matchAll(/\[`\w+`\]\([^)]+\.ts\)/g)].length).toBeGreaterThan(30);
  });
});
