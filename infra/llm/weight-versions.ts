// Which version of the weights generated which token, as far as the server reports it: one version for a response, a version with each
// chunk of a stream, or a list that covers the tokens. A version applies until another one is reported; tokens before the first report
// belong to the first version. Without any report the version is -1: unknown, never a guess. It is also -1 if the weights are those of
// another run: another program has updated the server.
import { at, countAt } from './json.ts';

export interface WeightSpan {
  readonly version: number;
  readonly tokens: number;
}

/** The label of an engine while its weights are loading: tokens generated meanwhile belong to no version. */
export const LOADING = 'unknown';

const UNKNOWN = -1;
const MAX_VERSION = 2 ** 31 - 1;

/** The number at the end of a name, with the letters directly before it: `12`, `v12`, `step-0012`, `Qwen2.5-7B-step-12`. */
const ENDS_IN_NUMBER = /(?:^|[^\p{L}\p{N}])\p{L}*(\d+)$/u;
/** Endings that are not versions: a negative number, the decimals of `Qwen2.5`, a date. */
const NO_VERSION = /^-\d+$|\d[.,]\d+$|(?:19|20)\d\d([-_./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/;
const WHOLE_NUMBER = /^\d+$/;

/** `<run>/<version>`: how turnstream labels the weights that it gives to an engine. */
const RUN_LABEL = /^([a-z0-9][a-z0-9-]{0,62})\/\d+$/;

export const isOfAnotherRun = (text: string, run = ''): boolean => run !== '' && (RUN_LABEL.exec(text)?.[1] ?? run) !== run;

/** The version at the end of a name; -1 when the name does not end in a version, or is a label of another run than `run`. */
export function versionOf(value: unknown, run = ''): number {
  const text = textOf(value);
  if (isOfAnotherRun(text, run)) return UNKNOWN;
  if (!WHOLE_NUMBER.test(text) && NO_VERSION.test(text)) return UNKNOWN;
  const version = Number(ENDS_IN_NUMBER.exec(text)?.[1] ?? UNKNOWN);
  return version <= MAX_VERSION ? version : UNKNOWN;
}

const textOf = (value: unknown): string => (typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '');

/** Parses a list of one version per token, or of {version, tokens} or {version, start, end}; undefined for anything else. */
function spansOf(value: unknown, versionIn: (item: unknown) => number): readonly WeightSpan[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return merged(
    value.map((item: unknown) => {
      if (typeof item !== 'object' || item === null) return { version: versionIn(item), tokens: 1 };
      const [start = 0, end = 0] = [countAt(item, 'start'), countAt(item, 'end')];
      return { version: versionIn(at(item, 'version')), tokens: countAt(item, 'tokens') ?? Math.max(0, end - start) };
    }),
  );
}

function merged(spans: readonly WeightSpan[]): readonly WeightSpan[] {
  const result: WeightSpan[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last?.version === span.version) result.splice(-1, 1, { ...last, tokens: last.tokens + span.tokens });
    else result.push(span);
  }
  return result;
}

/** Scales the spans so that their tokens add up to `total`, with rounding that loses no token. */
export function scaled(spans: readonly WeightSpan[], total: number): readonly WeightSpan[] {
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

/** Collects the versions that one response reports. */
export interface VersionTrack {
  /** The response began; headers may report a version. */
  begin(headers: Headers): void;
  /** A chunk arrived, with this many tokens. */
  add(chunk: unknown, tokens: number): void;
  spans(total: number): readonly WeightSpan[];
  /** Whether a part of the response came from the weights of another run. */
  foreign(): boolean;
}

/**
 * `from`: where to look for versions, in order: `header:<name>`, or a path into the response like `metadata.weight_version`. `run`: the run
 * whose labels count; empty = those of every run. Routes are asked elsewhere (asked-version.ts).
 */
export function trackVersions(from: readonly string[], run = ''): VersionTrack {
  const headers = from.flatMap((place) => (place.startsWith('header:') ? [place.slice('header:'.length)] : []));
  const paths = from.filter((place) => !/^(header|route):/.test(place)).map((place) => place.split('.'));
  const told: WeightSpan[] = [];
  let current: number | undefined;
  let foreign = false;
  let listed: readonly WeightSpan[] | undefined;
  const read = (value: unknown): number => {
    foreign ||= isOfAnotherRun(textOf(value), run);
    return versionOf(value, run);
  };
  /** Weights of another run count as a report of an unknown version. */
  const reported = (values: readonly unknown[]): number | undefined => {
    const known = values.map(read).find((version) => version >= 0);
    return known ?? (values.some((value) => isOfAnotherRun(textOf(value), run)) ? UNKNOWN : undefined);
  };
  return {
    begin(given) {
      current ??= reported(headers.map((name) => given.get(name)));
    },
    add(chunk, tokens) {
      const values = paths.map((path) => at(chunk, ...path));
      listed = values.map((value) => spansOf(value, read)).find((spans) => spans !== undefined) ?? listed;
      const named = reported(values);
      if (named !== undefined) {
        // tokens before the first report count as generated by the same weights
        if (current === undefined) for (const [index, span] of told.entries()) told[index] = { ...span, version: named };
        current = named;
      }
      told.push({ version: current ?? UNKNOWN, tokens });
    },
    spans: (total) => scaled(listed ?? merged(told), total),
    foreign: () => foreign,
  };
}
