// A page or a list of search results as the ranker sees it, parsed from the text of the tool result: lines, their labels, and their
// links. The parsing does not depend on the source of the page.
import type { ToolItem, ToolResult } from '../../../../streams/core/agents.ts';
import { wordSet } from './words.ts';
import type { WordSet } from './words.ts';

export interface Link {
  readonly url: string;
  readonly name: string;
  /** The number after the link; NaN if there is none. */
  readonly number: number;
}

export interface PageLine {
  readonly label: string;
  readonly labelWords: WordSet;
  readonly text: string;
  readonly words: WordSet;
  /** Share of the page's nonblank lines that precede this one. */
  readonly position: number;
  readonly links: readonly Link[];
}

export interface ParsedPage {
  readonly url: string;
  readonly title: string;
  readonly lines: readonly PageLine[];
}

export interface SearchHit {
  readonly item: ToolItem;
  readonly rank: number;
  readonly lines: readonly Pick<PageLine, 'labelWords' | 'text' | 'words'>[];
}

const labelled = /^(?:[-*] )?\*\*(.+?):?\*\*:?\s*(.*)$/;
const link = /\[([^\]]+)\]\(([^)\s]+)\)(?: \([^)]*\))?(?: ([\d,.]*\d))?/g;

function linksOf(text: string): Link[] {
  return [...text.matchAll(link)].map(([, name = '', url = '', number]) => ({
    name,
    url,
    number: number === undefined ? NaN : Number(number.replaceAll(',', '')),
  }));
}

function readPage(result: ToolResult): ParsedPage {
  const raw = result.text.split('\n').filter((line) => line.trim() !== '');
  const title = result.items[0]?.title ?? raw[0]?.replace(/^#+ /, '') ?? '';
  const lines = raw.flatMap((line, at) => {
    if (line.startsWith('#')) return [];
    const [, label = '', text = line] = labelled.exec(line) ?? [];
    const plain = text.replace(link, (all: string, name: string) => all.replace(/^\[[^\]]+\]\([^)\s]+\)/, () => name));
    const links = text.includes('](') ? linksOf(text) : [];
    return [{ label, labelWords: wordSet(label), text: plain, words: wordSet(`${label} ${plain}`), position: at / raw.length, links }];
  });
  return { url: result.items[0]?.url ?? '', title, lines };
}

function readFound(result: ToolResult): SearchHit[] {
  const blocks = result.text.split('\n\n');
  return result.items.map((item, rank) => {
    const [, ...lines] = (blocks[rank] ?? '').split('\n');
    return {
      item,
      rank,
      lines: lines.map((line) => {
        const end = Math.max(0, line.indexOf(':'));
        return { labelWords: wordSet(line.slice(0, end)), text: line.slice(end).replace(/^: /, ''), words: wordSet(line) };
      }),
    };
  });
}

const pages = new WeakMap<ToolResult, ParsedPage>();
const findings = new WeakMap<ToolResult, readonly SearchHit[]>();

/** The page of an access result; parsed once per result object. */
export function pageOf(result: ToolResult): ParsedPage {
  const known = pages.get(result);
  if (known !== undefined) return known;
  const page = readPage(result);
  pages.set(result, page);
  return page;
}

/** The results of a search; parsed once per result object. */
export function foundBy(result: ToolResult): readonly SearchHit[] {
  const known = findings.get(result);
  if (known !== undefined) return known;
  const found = readFound(result);
  findings.set(result, found);
  return found;
}
