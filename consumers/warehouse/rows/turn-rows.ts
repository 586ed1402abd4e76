// Builds the row of a turn from its event, cell by cell, as turn-fields.ts describes.
import type { TurnRecorded } from '../../../schemas/generated/events.ts';
import { emptyTurn } from '../../../schemas/rollouts/turn.ts';
import { turnFields } from '../../../schemas/rollouts/turn-fields.ts';
import type { Cell, Row } from '../../../streams/core/ports.ts';
import { float, floats, type Origin } from './cells.ts';

type TurnValues = Readonly<Record<string, unknown>>;
type CellOf = (value: unknown) => Cell;

function cellOf(value: unknown): Cell {
  if (typeof value === 'number') return float(value);
  if (Array.isArray(value) && typeof value[0] === 'number') return floats(value as readonly number[]);
  return value as Cell;
}

/** The part of a field's description that rows need. */
interface RowSpec {
  readonly about?: string;
  readonly column?: string;
  readonly sparse?: true;
  readonly each?: Readonly<Record<string, RowSpec>>;
  readonly inside?: Readonly<Record<string, RowSpec & { readonly missing?: number | '' }>>;
  readonly over?: Readonly<Record<string, { readonly of: (items: never) => number }>>;
}

/** A column, and how to compute its cell from the field. */
type ColumnCell = readonly [column: string, of: CellOf];

const nested = (specs: RowSpec['inside'], of: (name: string, missing: number | '') => CellOf): readonly ColumnCell[] =>
  Object.entries(specs ?? {}).flatMap(([name, { column, missing = '' }]) => (column === undefined ? [] : [[column, of(name, missing)]]));

const computed = ({ over = {} }: RowSpec): readonly ColumnCell[] =>
  Object.entries(over).map(([column, { of }]) => [column, of as (items: unknown) => Cell]);

const cellsOf = (field: string, spec: RowSpec): readonly ColumnCell[] => [
  ...computed(spec),
  ...nested(spec.each, (name) => (list) => cellOf((list as readonly TurnValues[]).map((item) => item[name]))),
  ...nested(spec.inside, (name, missing) => (record) => (record === null ? missing : cellOf((record as TurnValues)[name]))),
  ...(spec.about === undefined ? [] : [[spec.column ?? field, cellOf] as const]),
];

interface FieldCells {
  readonly field: string;
  readonly cells: readonly ColumnCell[];
  /** The default value of a sparse field, for which the blank row already has the cells; NEVER for other fields. */
  readonly unset: unknown;
}

const NEVER = Symbol('not the value of any field');

const makers = Object.entries(turnFields).map(([field, of]): FieldCells => {
  const spec = of as RowSpec;
  return { field, cells: cellsOf(field, spec), unset: spec.sparse === true ? (emptyTurn as unknown as TurnValues)[field] : NEVER };
});

const isUnset = (value: unknown, unset: unknown): boolean =>
  value === unset || (Array.isArray(unset) && (value as readonly unknown[]).length === 0);

const origin: Readonly<Record<keyof Origin, null>> = { _topic: null, _partition: null, _offset: null, _timestamp: null };
const cellsWhenUnset = ({ cells, unset }: FieldCells): readonly (readonly [string, Cell])[] =>
  cells.map(([column, of]) => [column, unset === NEVER ? null : of(unset)]);
/** Copied for each row: an object that grows column by column takes ten times as long. */
const blank = JSON.parse(JSON.stringify({ ...Object.fromEntries(makers.flatMap(cellsWhenUnset)), ...origin })) as Row & Origin;

export function turnRow(event: TurnRecorded, { _topic, _partition, _offset, _timestamp }: Origin): Row {
  const values = event as unknown as TurnValues;
  const row: { -readonly [K in keyof Origin]: Origin[K] } & Record<string, Cell> = { ...blank };
  for (const { field, cells, unset } of makers) {
    const value = values[field];
    if (isUnset(value, unset)) continue;
    for (const [column, of] of cells) row[column] = of(value);
  }
  row._topic = _topic;
  row._partition = _partition;
  row._offset = _offset;
  row._timestamp = _timestamp;
  return row;
}
