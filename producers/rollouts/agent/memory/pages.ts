// Shows pages piece by piece. A page is shown once, one piece per turn; of each piece, its beginning and the model's thought about it are
// kept. Invariant: the joined pieces are a prefix of the page; no piece splits a character.
import type { PastTurn } from '../../../../streams/core/agents.ts';
import { gaveNothing } from './memory.ts';

export interface PageRules {
  /** Maximum characters per piece. */
  readonly pieceChars: number;
  /** Maximum characters per page; the rest is never shown. */
  readonly maxChars: number;
  readonly maxPieces: number;
  /** Characters of a piece that are kept after reading. */
  readonly keptChars: number;
}

export const pageRules = { maxChars: 250_000, maxPieces: 10, keptChars: 100 } as const;

const isLowSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
const isHighSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800;

/** `at`, or the position before it if `at` would split a surrogate pair. */
const between = (text: string, at: number): number =>
  at > 0 && at < text.length && isLowSurrogate(text, at) && isHighSurrogate(text, at - 1) ? at - 1 : at;

/** At most the first `chars` characters. */
export const headOf = (text: string, chars: number): string => text.slice(0, between(text, Math.min(chars, text.length)));

/** At most the last `chars` characters. */
export function tailOf(text: string, chars: number): string {
  const from = Math.max(0, text.length - chars);
  return text.slice(between(text, from) === from ? from : from + 1);
}

/** The pieces of a page, in order; none for an empty page. */
export function piecesOf(page: string, rules: PageRules): readonly string[] {
  const end = between(page, Math.min(page.length, rules.maxChars));
  const pieces: string[] = [];
  for (let from = 0; from < end && pieces.length < rules.maxPieces;) {
    const to = Math.max(from + 1, between(page, Math.min(from + rules.pieceChars, end)));
    pieces.push(page.slice(from, to));
    from = to;
  }
  return pieces;
}

/** A copy that does not keep its source text in memory. */
const copyOf = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

/** One turn and its relation to pages. */
export interface ReadTurn {
  readonly turn: PastTurn;
  /** Set on a turn that opened a page: its number of pieces, and what is kept of each piece that was read. */
  readonly page: { readonly pieces: number; readonly kept: readonly string[] } | undefined;
  /** Set on a turn that read a piece: which piece of which page, counted from 0. */
  readonly read: { readonly opened: PastTurn; readonly piece: number } | undefined;
}

export interface PageReading {
  /** The turns in which the model returned something. */
  readonly turns: readonly ReadTurn[];
  /** The next piece to read; undefined when no page is open. */
  readonly next: { readonly text: string; readonly piece: number } | undefined;
}

const openedPage = ({ action, result }: PastTurn): boolean => action?.tool === 'access' && result?.status === 'ok';

interface OpenPage {
  readonly turn: PastTurn;
  readonly pieces: readonly string[];
  read: number;
}

function openPage(turn: PastTurn, rules: PageRules): OpenPage | undefined {
  if (!openedPage(turn)) return undefined;
  return { turn, pieces: turn.pieces ?? piecesOf(turn.result?.text ?? '', rules), read: 0 };
}

/** Determines for every turn whether it opened or read a page: after a page is opened, turns read it to its end. */
export function readingOf(history: readonly PastTurn[], rules: PageRules): PageReading {
  const turns: ReadTurn[] = [];
  let open: OpenPage | undefined;
  for (const turn of history.filter((past) => !gaveNothing(past))) {
    const unread = open !== undefined && open.read < open.pieces.length ? open : undefined;
    if (unread !== undefined) {
      turns.push({ turn, page: undefined, read: { opened: unread.turn, piece: unread.read } });
      unread.read += 1;
      continue;
    }
    open = openPage(turn, rules);
    const kept = open?.pieces.map((piece) => headOf(piece, rules.keptChars));
    turns.push({ turn, page: kept === undefined ? undefined : { pieces: kept.length, kept }, read: undefined });
  }
  const text = open?.pieces[open.read];
  return { turns, next: open === undefined || text === undefined ? undefined : { text, piece: open.read } };
}

/** Drops the texts of fully read pages. */
export function forgetPages(history: readonly PastTurn[], rules: PageRules): readonly PastTurn[] {
  const { turns, next } = readingOf(history, rules);
  const opened = turns.filter(({ page }) => page !== undefined);
  const done = new Map((next === undefined ? opened : opened.slice(0, -1)).map(({ turn, page }) => [turn, page?.kept ?? []]));
  return history.map((turn) => {
    const kept = done.get(turn);
    if (kept === undefined || turn.result === undefined || turn.pieces !== undefined) return turn;
    return { ...turn, result: { ...turn.result, text: '' }, pieces: kept.map(copyOf) };
  });
}
