// Which version of the weights is behind which token, as far as the server says. It may name one version for an answer, a
// version with each chunk of a stream, or a list that covers the tokens. A version holds until another is named; tokens
// before the first name belong to the first. Without a name the version is -1: unknown, never a guess.
import { at, countAt } from './json.ts';

export interface Span {
  readonly version: number;
  readonly tokens: number;
}

const UNKNOWN = -1;
const MAX_VERSION = 2 ** 31 - 1;

/** The number that a name ends in, with the letters right before it: `12`, `v12`, `step-0012`, `Qwen2.5-7B-step-12`. */
const ENDS_IN_NUMBER = /(?:^|[^\p{L}\p{N}])\p{L}*(\d+)$/u;
/** Ends that are no versions: a negative number, the decimals of `Qwen2.5`, a date. */
const NO_VERSION = /^-\d+$|\d[.,]\d+$|(?:19|20)\d\d([-_./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/;
const WHOLE_NUMBER = /^\d+$/;

/** The version that a name ends in; -1 of one that does not end in a number, or in one that means something else. */
export function versionOf(value: unknown): number {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
  if (!WHOLE_NUMBER.test(text) && NO_VERSION.test(text)) return UNKNOWN;
  const version = Number(ENDS_IN_NUMBER.exec(text)?.[1] ?? UNKNOWN);
  return version <= MAX_VERSION ? version : UNKNOWN;
}

/** A list of one version a token, or of {version, tokens} or {version, start, end}; undefined for anything else. */
function spansOf(value: unknown): readonly Span[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return merged(
    value.map((item: unknown) => {
      if (typeof item !== 'object' || item === null) return { version: versionOf(item), tokens: 1 };
      const [start = 0, end = 0] = [countAt(item, 'start'), countAt(item, 'end')];
      return { version: versionOf(at(item, 'version')), tokens: countAt(item, 'tokens') ?? Math.max(0, end - start) };
    }),
  );
}

function merged(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last?.version === span.version) result.splice(-1, 1, { ...last, tokens: last.tokens + span.tokens });
    else result.push(span);
  }
  return result;
}

/** The spans with tokens that add up to `total`, in their proportions; each is rounded so that nothing is lost. */
export function scaled(spans: readonly Span[], total: number): readonly Span[] {
  const sum = spans.reduce((all, { tokens }) => all + tokens, 0);
  const last = spans.at(-1);
  if (last === undefined) return [{ version: UNKNOWN, tokens: total }];
  if (sum === 0) return [{ version: last.version, tokens: total }];
  let before = 0;
  let given = 0;
  const shares = spans.map(({ version, tokens }) => {
    before += tokens;
    const upTo = Math.round((before / sum) * total);
    const share = { version, tokens: upTo - given };
    given = upTo;
    return share;
  });
  const some = merged(shares.filter(({ tokens }) => tokens > 0));
  return some.length === 0 ? [{ version: last.version, tokens: total }] : some;
}

/** Gathers what one answer says about its versions. */
export interface VersionTrack {
  /** The answer began; headers may name a version. */
  begin(headers: Headers): void;
  /** A chunk came, with so many tokens. */
  add(chunk: unknown, tokens: number): void;
  spans(total: number): readonly Span[];
}

/** `from`: where versions are looked for, in order: `header:<name>`, or a path into the answer like `metadata.weight_version`. */
export function trackVersions(from: readonly string[]): VersionTrack {
  const headers = from.flatMap((place) => (place.startsWith('header:') ? [place.slice('header:'.length)] : []));
  const paths = from.filter((place) => !place.startsWith('header:')).map((place) => place.split('.'));
  const told: Span[] = [];
  let current = UNKNOWN;
  let listed: readonly Span[] | undefined;
  return {
    begin(given) {
      for (const name of headers) if (current < 0) current = versionOf(given.get(name));
    },
    add(chunk, tokens) {
      const values = paths.map((path) => at(chunk, ...path));
      listed = values.map(spansOf).find((spans) => spans !== undefined) ?? listed;
      const named = values.map(versionOf).find((version) => version >= 0);
      if (named !== undefined) {
        // what came before the first name was under the same weights, as far as anyone says
        if (current < 0) for (const [index, span] of told.entries()) told[index] = { ...span, version: named };
        current = named;
      }
      told.push({ version: current, tokens });
    },
    spans: (total) => scaled(listed ?? merged(told), total),
  };
}
