// The tokens of a turn: where each lies in the text, which version made it, and how likely it was. What the engine did not report is
// missing, never zero. Plain values, so that a test can hold them.
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
  /** Undefined where its place in the text is not recorded. */
  readonly text: string | undefined;
  readonly id: number | undefined;
  readonly logprob: number | undefined;
  /** -1 when nobody knows; undefined where no span covers it. */
  readonly version: number | undefined;
}

/** Places in the text for ends in UTF-8 bytes; an end inside of a character is the end of that character. */
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

/** What training did with a turn: its advantage, and which of its tokens counted. */
export interface TokenWeight {
  readonly advantage: number;
  /** Zero for a token that was left out of the loss; all count when it is empty. */
  readonly mask: readonly number[];
}

/** What tokens can be colored by, the best first. */
export function coloringsOf(rows: readonly ShownToken[], weight: TokenWeight | undefined): readonly TokenColoring[] {
  return [
    ...(rows.some(({ logprob }) => logprob !== undefined) ? (['likelihood'] as const) : []),
    ...(new Set(rows.map(({ version }) => version)).size > 1 ? (['version'] as const) : []),
    ...(weight === undefined ? [] : (['advantage'] as const)),
    'boundary',
  ];
}

const SHADES = 8;

/** From 0 for a token that was nearly sure to 7 for one of a probability below a thousandth. */
const shadeOfLogprob = (logprob: number | undefined): number =>
  logprob === undefined ? -1 : Math.min(SHADES - 1, Math.floor(Math.max(0, -logprob)));

/** 0 to 3 for what training made likelier, 4 to 7 for what it made less likely; the further from 0, the stronger. */
function shadeOfAdvantage(advantage: number): number {
  if (advantage === 0) return -1;
  const strength = Math.min(3, Math.floor(Math.abs(advantage) * 2));
  return advantage > 0 ? strength : 4 + strength;
}

/** The shade of each token, -1 for none. */
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
  /** End of each token in it. */
  readonly ends: readonly number[];
}

/** The text as it is shown, with marks for what cannot be seen, and where each token ends in it. */
export function shownTokens(rows: readonly ShownToken[], rest: string): ShownTokens {
  let text = '';
  const ends = rows.map((row) => (text += visible(row.text ?? '')).length);
  return { text: text + visible(rest), ends };
}
