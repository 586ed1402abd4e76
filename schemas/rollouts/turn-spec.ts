// What the table of a turn's fields may say. A field or a nested field that the table leaves out does not compile.
import type { PolicySpan, TurnRecorded } from '../generated/events.ts';

/** Kind of a column, as REST answers it. */
export type TurnKind = 'text' | 'whole' | 'number' | 'flag' | 'time' | 'texts' | 'wholes' | 'numbers';

type KindOf<V> = [V] extends [string]
  ? 'text'
  : [V] extends [boolean]
    ? 'flag'
    : [V] extends [number]
      ? 'whole' | 'number' | 'time'
      : [V] extends [readonly string[]]
        ? 'texts'
        : [V] extends [readonly number[]]
          ? 'wholes' | 'numbers'
          : never;

/** Where REST answers a column: in every row, only when `fields=` names it, or nowhere. */
export type TurnRest = 'row' | 'fields' | 'none';

/** A figure of the outline of an attempt, by its name there, rounded to some digits; a text is listed once, and each turn has its place. */
export type InOutline = { readonly as: string; readonly digits?: number } | { readonly as: string; readonly list: string };

/** A column of `turns`. */
export interface TurnColumn<K extends TurnKind = TurnKind> {
  readonly kind: K;
  readonly rest: TurnRest;
  /** The comment of the column, with its unit. */
  readonly about: string;
  readonly outline?: InOutline;
}

interface Named {
  readonly column: string;
}

/** Stays in the log: bytes and numbers that nobody selects. */
interface LogOnly {
  readonly kind: 'log';
}

/** What a record without the nested record has in a column. */
interface Missing {
  /** A text is empty. */
  readonly missing: number | '';
}

/** Columns out of the fields of a nested record. */
type InsideColumns<R> = { readonly [F in keyof R]: LogOnly | (TurnColumn<KindOf<R[F]>> & Named & Missing) };
/** Columns of lists, out of the fields of the records of a list. */
type Each<R> = { readonly [F in keyof R]: LogOnly | (TurnColumn<KindOf<readonly R[F][]>> & Named) };
/** Columns computed from a whole list of records. */
type ListColumns<V> = Readonly<Record<string, TurnColumn<'whole'> & { readonly of: (items: V) => number }>>;

/** A column with the beginning of a text, which the database makes. */
interface Head {
  readonly head?: Omit<TurnColumn<'text'>, 'kind'> & Named;
}

type ColumnsOf<V> =
  KindOf<V> extends never
    ? V extends readonly (infer R)[]
      ? { readonly each: Each<R>; readonly over?: ListColumns<V> }
      : { readonly inside: InsideColumns<NonNullable<V>> }
    : LogOnly | (TurnColumn<KindOf<V>> & Partial<Named> & Head);

/** Fields that are truncated when a record is too large, by kind; `calls` are the texts of further calls. All other fields are kept whole. */
export type GivesWay = 'slug' | 'text' | 'arguments' | 'items' | 'calls' | 'tokens' | 'decision';

interface FieldWriting {
  /** The worker knows it from the attempt, whatever happened in the turn. */
  readonly from?: 'attempt';
  readonly cut?: GivesWay;
  /** Few turns set it, so an insert in which none does leaves its columns out: their defaults in the table are those of the schema. */
  readonly sparse?: true;
}

export type TurnFields = { readonly [F in keyof TurnRecorded]: FieldWriting & ColumnsOf<TurnRecorded[F]> };

type Spans = readonly PolicySpan[];

const UNKNOWN = -1;
const known = (spans: Spans): readonly number[] => spans.flatMap(({ version }) => (version < 0 ? [] : [version]));

/** -1 when no version is known, as for the newest. */
export const oldestVersion = (spans: Spans): number => (spans.every(({ version }) => version < 0) ? UNKNOWN : Math.min(...known(spans)));
export const newestVersion = (spans: Spans): number => Math.max(UNKNOWN, ...known(spans));
export const unknownTokens = (spans: Spans): number => spans.reduce((sum, { version, tokens }) => (version < 0 ? sum + tokens : sum), 0);
