// The tokens of a turn: their position in the text, policy version, and probability. What the engine did not report is missing, never zero.
// No DOM, for tests.
import { visible } from '../kit/visible.ts';

export interface TurnTokens {
  readonly text: string;
  readonly token_ids?: readonly number[];
  readonly token_ends?: readonly number[];
  readonly logprobs?: readonly (number | null)[];
  readonly policy_span_versions: readonly number[];
  readonly policy_span_tokens: readonly number[];
}

export interface ShownToken {
  /** Undefined if its position in the text is not recorded. */
  readonly text: string | undefined;
  readonly id: number | undefined;
  readonly logprob: number | undefined;
  /** -1 if the version is unknown; undefined if no span covers the token. */
  readonly version: number | undefined;
}

/** Converts ends in UTF-8 bytes to positions in the string. An end within a character becomes the end of that character. */
export function placesOf(text: string, byteEnds: readonly number[]): readonly number[] {
  const places: number[] = [];
  let [bytes, at] = [0, 0];
  for (const end of byteEnds) {
    while (bytes < end && at < text.length) {
      const point = text.codePointAt(at) ?? 0;
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      at += point < 0x10000 ? 1 : 2;
    }
    places.push(at);
  }
  return places;
}

function versionsOf({ policy_span_versions: versions, policy_span_tokens: tokens }: TurnTokens): readonly number[] {
  return versions.flatMap((version, at) => new Array<number>(Math.max(0, Math.min(1_000_000, tokens[at] ?? 0))).fill(version));
}

export function tokensOf(turn: TurnTokens): readonly ShownToken[] {
  const { token_ids: ids = [], token_ends: ends = [], logprobs = [] } = turn;
  const places = placesOf(turn.text, ends);
  const versions = versionsOf(turn);
  const count = Math.max(ids.length, ends.length, logprobs.length);
  return Array.from({ length: count }, (_, at) => ({
    text: places[at] === undefined ? undefined : turn.text.slice(places[at - 1] ?? 0, places[at]),
    id: ids[at],
    logprob: logprobs[at] ?? undefined,
    version: versions[at],
  }));
}

type TokenColoring = 'likelihood' | 'version' | 'advantage' | 'boundary';

/** How training used a turn: its advantage, and which tokens counted. */
export interface TokenWeight {
  readonly advantage: number;
  /** Zero for tokens that were excluded from the loss; empty if all counted. */
  readonly mask: readonly number[];
}

/** What tokens can be colored by, most useful first. */
export function coloringsOf(rows: readonly ShownToken[], weight: TokenWeight | undefined): readonly TokenColoring[] {
  return [
    ...(rows.some(({ logprob }) => logprob !== undefined) ? (['likelihood'] as const) : []),
    ...(new Set(rows.map(({ version }) => version)).size > 1 ? (['version'] as const) : []),
    ...(weight === undefined ? [] : (['advantage'] as const)),
    'boundary',
  ];
}

const SHADES = 8;

/** One shade per nat: from 0 for a probability above 0.37 to 7 for one of at most 0.0009. */
const shadeOfLogprob = (logprob: number | undefined): number =>
  logprob === undefined ? -1 : Math.min(SHADES - 1, Math.floor(Math.max(0, -logprob)));

/** 0 to 3 if training made the token more likely, 4 to 7 if less likely; the farther the advantage is from 0, the stronger. */
function shadeOfAdvantage(advantage: number): number {
  if (advantage === 0) return -1;
  const strength = Math.min(3, Math.floor(Math.abs(advantage) * 2));
  return advantage > 0 ? strength : 4 + strength;
}

/** The shade of each token; -1 for none. */
export function shadesOf(rows: readonly ShownToken[], by: TokenColoring, weight?: TokenWeight): readonly number[] {
  if (by === 'advantage') {
    const shade = shadeOfAdvantage(weight?.advantage ?? 0);
    return rows.map((_, at) => (weight?.mask[at] === 0 ? -1 : shade));
  }
  if (by === 'likelihood') return rows.map(({ logprob }) => shadeOfLogprob(logprob));
  if (by === 'boundary') return rows.map((_, at) => (at % 2 === 0 ? 1 : -1));
  const known = [...new Set(rows.map(({ version }) => version))];
  return rows.map(({ version }) => known.indexOf(version) % SHADES);
}

interface ShownTokens {
  readonly text: string;
  /** End of each token in the displayed text. */
  readonly ends: readonly number[];
}

/** The displayed text, with marks for invisible characters, and the end of each token in it. */
export function shownTokens(rows: readonly ShownToken[], rest: string): ShownTokens {
  let text = '';
  const ends = rows.map((row) => (text += visible(row.text ?? '')).length);
  return { text: text + visible(rest), ends };
}
