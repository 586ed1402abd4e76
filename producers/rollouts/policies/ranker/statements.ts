// Whether lines confirm or refute what a hard question says about a place. Lines about something else do neither.
import type { PageLine } from './page.ts';
import type { PlaceStatement } from './question.ts';
import { coverage, likeness } from './words.ts';
import type { WordSet } from './words.ts';

/** What statements are compared with: a line of a page or of a search result. */
type StatedLine = Pick<PageLine, 'labelWords' | 'text' | 'words'>;

/** Minimum share of the words of a label that a line must have. */
const ABOUT = 0.5;
/** Minimum likeness of two labels that are about the same figure. */
const SAME_FIGURE = 0.4;

const figure = /\d[\d,]*(?:\.\d+)?/u;
const scales: Readonly<Record<string, number>> = { million: 1e6, billion: 1e9, trillion: 1e12 };
const scaled = /^\D{0,3}[\d,.]+ (million|billion|trillion)\b/u;

/** The first figure of a text; NaN without one. */
function figureOf(text: string): number {
  const found = figure.exec(text)?.[0].replaceAll(',', '');
  return found === undefined ? NaN : Number(found) * (scales[scaled.exec(text)?.[1] ?? ''] ?? 1);
}

/** Labels are compared without "total", because a figure is a total unless its label says otherwise. */
const withoutTotal = (words: WordSet): WordSet => new Set([...words].filter((word) => word !== 'total'));

/** The line about the figure or name of a statement: the one whose label is most similar and that has the unit of the question, if any. */
function lineAbout({ labelWords, unitWords }: PlaceStatement, lines: readonly StatedLine[]): StatedLine | undefined {
  let best: StatedLine | undefined;
  let most = 0;
  const label = withoutTotal(labelWords);
  for (const line of lines) {
    const alike = likeness(label, withoutTotal(line.labelWords));
    if (alike < SAME_FIGURE) continue;
    const fit = alike + coverage(unitWords, line.words);
    if (fit > most) [best, most] = [line, fit];
  }
  return best;
}

function vaguely(told: PlaceStatement, lines: readonly StatedLine[]): boolean | undefined {
  const line = lineAbout(told, lines);
  if (line === undefined || told.vague === undefined) return undefined;
  if ('initial' in told.vague) return /\p{L}/u.exec(line.text)?.[0] === told.vague.initial;
  const value = figureOf(line.text);
  return value >= told.vague.low && value <= told.vague.high;
}

function exactly({ spanWords, labelWords }: PlaceStatement, lines: readonly StatedLine[]): boolean | undefined {
  const about = (line: StatedLine): boolean => labelWords.size === 0 || coverage(labelWords, line.words) >= ABOUT;
  if (lines.some((line) => coverage(spanWords, line.words) === 1 && about(line))) return true;
  return labelWords.size > 0 && lines.some((line) => coverage(labelWords, line.labelWords) >= ABOUT) ? false : undefined;
}

/** Whether the lines confirm the statement; undefined if they are about something else. */
export const statedBy = (told: PlaceStatement, lines: readonly StatedLine[]): boolean | undefined =>
  told.vague === undefined ? exactly(told, lines) : vaguely(told, lines);
