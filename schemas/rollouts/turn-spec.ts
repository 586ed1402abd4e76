// Types for the table of a turn's fields (turn-fields.ts). A table that leaves out a field or a nested field does not compile.
import type { PolicySpan, TurnRecorded } from '../generated/events.ts';

/** Kind of a column, as REST returns it. */
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

/** Where REST returns a column: in every row, only when `fields=` names it, or nowhere. */
export type TurnRest = 'row' | 'fields' | 'none';

/** A column of the outline of an attempt, with its name there: a number, maybe rounded, or a text, as its index in `list`. */
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

/** Stays in the log: bytes and numbers that no query needs. */
interface LogOnly {
  readonly kind: 'log';
}

/** The value of a column when the nested record is missing. */
interface Missing {
  /** A missing text is empty. */
  readonly missing: number | '';
}

/** Columns from the fields of a nested record. */
type InsideColumns<R> = { readonly [F in keyof R]: LogOnly | (TurnColumn<KindOf<R[F]>> & Named & Missing) };
/** List columns from the fields of a list of records. */
type Each<R> = { readonly [F in keyof R]: LogOnly | (TurnColumn<KindOf<readonly R[F][]>> & Named) };
/** Columns computed from a whole list of records. */
type ListColumns<V> = Readonly<Record<string, TurnColumn<'whole'> & { readonly of: (items: V) => number }>>;

/** A column with the beginning of a text, which the database computes. */
interface Head {
  readonly head?: Omit<TurnColumn<'text'>, 'kind'> & Named;
}

type ColumnsOf<V> =
  KindOf<V> extends never
    ? V extends readonly (infer R)[]
      ? { readonly each: Each<R>; readonly over?: ListColumns<V> }
      : { readonly inside: InsideColumns<NonNullable<V>> }
    : LogOnly | (TurnColumn<KindOf<V>> & Partial<Named> & Head);

/** Fields that are truncated when a record is too large, by kind; `calls` are the texts of further calls. Other fields are kept whole. */
export type GivesWay = 'slug' | 'text' | 'arguments' | 'items' | 'calls' | 'tokens' | 'decision';

interface FieldWriting {
  /** The worker knows it from the attempt, independently of the turn. */
  readonly from?: 'attempt';
  readonly cut?: GivesWay;
  /** Few turns set it. An insert in which none does omits its columns, whose defaults equal those of the schema. */
  readonly sparse?: true;
}

export type TurnFields = { readonly [F in keyof TurnRecorded]: FieldWriting & ColumnsOf<TurnRecorded[F]> };

type Spans = readonly PolicySpan[];

const UNKNOWN = -1;

// Loops without allocations: they run for every turn that is stored.

/** -1 when no version is known, like newestVersion. */
export function oldestVersion(spans: Spans): number {
  let oldest = UNKNOWN;
  for (const { version } of spans) if (version >= 0 && (oldest < 0 || version < oldest)) oldest = version;
  return oldest;
}

export function newestVersion(spans: Spans): number {
  let newest = UNKNOWN;
  for (const { version } of spans) if (version > newest) newest = version;
  return newest;
}

export function unknownTokens(spans: Spans): number {
  let unknown = 0;
  for (const { version, tokens } of spans) if (version < 0) unknown += tokens;
  return unknown;
}
