// The parts of two turns, compared word by word. Each part has a limit of its own, so that a long text does not hide the call after it.
import { diffWords, type TextPart } from './align.ts';

const MOST_CHARACTERS = 3_000;

const columns = [
  { name: 'text', column: 'text' },
  { name: 'arguments', column: 'tool_arguments' },
  { name: 'result', column: 'tool_result' },
] as const;

type TurnTexts = Readonly<Record<(typeof columns)[number]['column'], string>>;

export interface DiffedPart {
  readonly name: string;
  readonly words: readonly TextPart[];
  /** Number of characters after those that are compared. */
  readonly leftOut: number;
}

/** The parts of both turns that are not empty; without a counterpart, nothing is marked. */
export function diffTurns(left: TurnTexts | undefined, right: TurnTexts | undefined): readonly (readonly DiffedPart[])[] {
  const both = columns.map(({ name, column }) => {
    const texts = [left?.[column] ?? '', right?.[column] ?? ''] as const;
    const words = wordsOf(texts, left !== undefined && right !== undefined);
    return texts.map((text, side) => partOf(name, text, words[side] ?? []));
  });
  return [0, 1].map((side) => both.flatMap((parts) => parts[side] ?? []).filter(({ words }) => words.some(({ text }) => text !== '')));
}

function wordsOf([left, right]: readonly [string, string], isPair: boolean): readonly (readonly TextPart[])[] {
  const [a, b] = [left.slice(0, MOST_CHARACTERS), right.slice(0, MOST_CHARACTERS)];
  if (isPair && a !== b) return diffWords(a, b);
  return [a, b].map((text) => (text === '' ? [] : [{ text, isOwn: false }]));
}

function partOf(name: string, text: string, words: readonly TextPart[]): DiffedPart {
  return { name, words, leftOut: text.length - words.reduce((sum, one) => sum + one.text.length, 0) };
}
