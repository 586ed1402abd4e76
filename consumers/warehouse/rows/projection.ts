// A projection of an event: the tables that it fills, and their rows. The rows file of a topic has one projection for each of its event
// types; a missing type does not compile.
import type { EventByType, EventTopic, EventTypeOf } from '../../../schemas/generated/events.ts';
import type { Row } from '../../../streams/core/ports.ts';
import type { Origin } from './cells.ts';

export interface Projection<E, T extends string> {
  readonly tables: readonly T[];
  /** Passes every row of one event to `emit`; at least one. */
  readonly project: (event: E, origin: Origin, emit: (table: T, row: Row) => void) => void;
}

/** A projection for each event type of a topic. */
export type ProjectionsOf<P extends EventTopic> = { readonly [T in EventTypeOf<P>]: Projection<EventByType[T], string> };

/** One row of one table. */
export const row = <E, const T extends string>(table: T, rowOf: (event: E, origin: Origin) => Row): Projection<E, T> => ({
  tables: [table],
  project: (event, origin, emit) => {
    emit(table, rowOf(event, origin));
  },
});

/** Any number of rows of one table. */
export const rows = <E, const T extends string>(table: T, rowsOf: (event: E, origin: Origin) => readonly Row[]): Projection<E, T> => ({
  tables: [table],
  project: (event, origin, emit) => {
    for (const one of rowsOf(event, origin)) emit(table, one);
  },
});

/** Rows of two tables. */
export const both = <E, T extends string, U extends string>(first: Projection<E, T>, second: Projection<E, U>): Projection<E, T | U> => ({
  tables: [...first.tables, ...second.tables],
  project: (event, origin, emit) => {
    first.project(event, origin, emit);
    second.project(event, origin, emit);
  },
});
