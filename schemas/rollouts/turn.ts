// Derived from the table of a turn's fields: the columns of `turns` in order, and which of them REST and the outline return.
import type { TurnRecorded } from '../generated/events.ts';
import { latestSchema } from '../subjects.ts';
import { defaultsOf } from '../defaults.ts';
import { turnFields } from './turn-fields.ts';
import type { GivesWay, InOutline, TurnColumn, TurnKind, TurnRest } from './turn-spec.ts';

type Fields = typeof turnFields;
type FieldName = keyof TurnRecorded;

type NestedColumns<R> = { [F in keyof R as R[F] extends { column: infer C extends string } ? C : never]: R[F] };
type OwnColumn<F extends string, S> = S extends { column: infer C extends string } ? C : F;
type ColumnsOfField<F extends string, S> = (S extends { each: infer R } ? NestedColumns<R> : unknown) &
  (S extends { inside: infer R } ? NestedColumns<R> : unknown) &
  (S extends { over: infer R } ? R : unknown) &
  (S extends { kind: TurnKind } ? Record<OwnColumn<F, S>, S> : unknown) &
  (S extends { head: infer H extends { column: string } } ? Record<H['column'], H & { readonly kind: 'text' }> : unknown);
type IntersectionOf<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
type AllColumns = IntersectionOf<{ [F in FieldName]: ColumnsOfField<F, Fields[F]> }[FieldName]>;
type KindsWhere<R extends TurnRest> = {
  readonly [C in keyof AllColumns as AllColumns[C] extends { rest: R } ? C : never]: AllColumns[C] extends { kind: infer K } ? K : never;
};

/** A column with its name. */
type NamedTurnColumn = TurnColumn & { readonly name: string };

type Spec = Partial<TurnColumn> & {
  readonly column?: string;
  readonly head?: Omit<TurnColumn, 'kind'> & { readonly column: string };
  readonly over?: Readonly<Record<string, TurnColumn>>;
} & Partial<Record<'each' | 'inside', Readonly<Record<string, { readonly kind: string; readonly column?: string }>>>>;

function columnsOf(field: string, spec: Spec): readonly NamedTurnColumn[] {
  const nested = Object.values({ ...spec.each, ...spec.inside }).flatMap((one) =>
    one.column !== undefined ? [{ ...(one as TurnColumn), name: one.column }] : [],
  );
  const over = Object.entries(spec.over ?? {}).map(([name, one]) => ({ ...one, name }));
  const own = 'about' in spec ? [{ ...(spec as TurnColumn), name: spec.column ?? field }] : [];
  const { head } = spec;
  return [...over, ...nested, ...own, ...(head === undefined ? [] : [{ ...head, kind: 'text' as const, name: head.column }])];
}

const all: readonly NamedTurnColumn[] = Object.entries(turnFields).flatMap(([field, spec]) => columnsOf(field, spec as Spec));

const kindsWhere = <R extends TurnRest>(rest: R): KindsWhere<R> =>
  Object.fromEntries(all.filter((one) => one.rest === rest).map(({ name, kind }) => [name, kind])) as KindsWhere<R>;

/** Columns that REST returns in every row, by name. */
export const turnRowKinds = kindsWhere('row');
/** Columns that REST returns when `fields=` names them. */
export const turnFieldKinds = kindsWhere('fields');

/** Comments of the columns. */
export const turnComments: Readonly<Record<string, string>> = Object.fromEntries(all.map(({ name, about }) => [name, about]));

/** Columns of the outline of an attempt. */
export const outlineColumns: readonly (InOutline & { readonly column: string })[] = all.flatMap(({ name, outline }) =>
  outline === undefined ? [] : [{ ...outline, column: name }],
);

type AttemptField = { [F in FieldName]: Fields[F] extends { from: 'attempt' } ? F : never }[FieldName];

/** The fields that describe what happened in a turn, without those that identify it. */
export type TurnOutcome = Omit<TurnRecorded, AttemptField>;

/** The fields that are cut in this way when a record is too large; with undefined, those that are kept in full. */
export const fieldsCutAs = (cut: GivesWay | undefined): readonly FieldName[] =>
  (Object.keys(turnFields) as FieldName[]).filter((field) => ('cut' in turnFields[field] ? turnFields[field].cut : undefined) === cut);

/** An empty turn: every field has the default of the schema or is empty. */
export const emptyTurn: TurnRecorded = defaultsOf(latestSchema('TurnRecorded').schema) as unknown as TurnRecorded;
