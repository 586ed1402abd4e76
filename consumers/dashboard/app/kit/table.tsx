// A table that renders all of its rows. Long lists render only a window of their rows instead.
import type { ComponentChildren, JSX } from 'preact';
import { visible } from './visible.ts';

export interface TableColumn<R> {
  readonly name: string;
  readonly of: (row: R) => ComponentChildren;
  readonly number?: boolean;
  readonly title?: string;
}

interface TableProps<R> {
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly TableColumn<R>[];
  readonly keyOf: (row: R) => string;
  /** The row selected with the keyboard. */
  readonly selected?: number;
  readonly onPoint?: (row: R | undefined) => void;
}

export const Table = <R,>({ label, rows, columns, keyOf, selected, onPoint }: TableProps<R>): JSX.Element => (
  <div class="scroller" tabIndex={0} role="region" aria-label={label}>
    <table>
      <thead>
        <tr>
          {columns.map(({ name, number, title }) => (
            <th key={name} class={number === true ? 'number' : ''} title={title}>
              {visible(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody onMouseLeave={() => onPoint?.(undefined)}>
        {rows.map((row, at) => (
          <tr key={keyOf(row)} aria-selected={selected === undefined ? undefined : at === selected} onMouseEnter={() => onPoint?.(row)}>
            {columns.map(({ name, of, number }) => (
              <td key={name} class={number === true ? 'number' : ''}>
                {of(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
