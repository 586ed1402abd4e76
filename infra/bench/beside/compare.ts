// Parses the tables that benches write and compares those of two revisions, figure by figure.
import type { BenchTable } from '../report.ts';
import { median } from '../statistics.ts';

/** A published figure of a bench: which table cells contain it, and which direction is better. */
interface PublishedFigure {
  readonly what: string;
  readonly column: string;
  /** Text that a row must contain; empty for every row. For several rows, their median counts. */
  readonly row: string;
  readonly better: 'higher' | 'lower';
}

export const figuresOf = {
  sink: [{ what: 'sink, rows/s', row: 'turnstream', column: 'rows/s', better: 'higher' }],
  latency: [
    { what: 'produced to selectable, p50, ms', row: '', column: 'p50', better: 'lower' },
    { what: 'produced to selectable, p99, ms', row: '', column: 'p99', better: 'lower' },
  ],
  recovery: [{ what: 'kill of the trainer to the next step, median, s', row: '', column: 'median', better: 'lower' }],
  api: [{ what: 'API, requests/s', row: '', column: 'requests/s', better: 'higher' }],
} as const satisfies Readonly<Record<string, readonly PublishedFigure[]>>;

export type BenchName = keyof typeof figuresOf;

export interface BenchComparison {
  readonly what: string;
  readonly old: readonly number[];
  readonly new: readonly number[];
  /** How much worse the new median is, as a fraction of the old one; negative when it is better. */
  readonly worse: number;
}

/** The tables of one bench, run by run, of the old and of the new revision. */
export function compare(bench: BenchName, old: readonly BenchTable[], fresh: readonly BenchTable[]): readonly BenchComparison[] {
  return figuresOf[bench].map((figure: PublishedFigure) => {
    const before = old.map((table) => valueIn(table, figure));
    const after = fresh.map((table) => valueIn(table, figure));
    const change = median(after) / median(before) - 1;
    return { what: figure.what, old: before, new: after, worse: figure.better === 'lower' ? change : -change };
  });
}

/** A number with at most a unit. A cell with more words is not a figure of its column. */
const FIGURE = /^(-?[\d.]+)(?: ?[^\s\d]+)?$/;

/** Throws when the table lacks this figure: a renamed column must not count as unchanged. */
function valueIn({ columns, rows }: BenchTable, { what, column, row }: PublishedFigure): number {
  const at = columns.indexOf(column);
  const values = rows
    .filter((cells) => cells.some((cell) => cell.includes(row)))
    .map((cells) => FIGURE.exec((cells[at] ?? '').replaceAll(',', ''))?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number);
  if (values.length === 0) throw new Error(`the table of the bench has no figure "${what}" (column "${column}")`);
  return median(values);
}
