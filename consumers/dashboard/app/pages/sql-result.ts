// The result of a statement, without the DOM: which columns can be an axis or a line, and the points of a chart.

export interface SqlResult {
  readonly meta: readonly { readonly name: string; readonly type: string }[];
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly rows: number;
}

const NUMBER = /^(?:Nullable\(|LowCardinality\()*(?:U?Int\d+|Float\d+|Decimal)/;
const TIME = /^(?:Nullable\()?Date/;

export const isNumberType = (type: string): boolean => NUMBER.test(type);

interface ChartChoice {
  readonly axes: readonly string[];
  readonly axis: string | undefined;
  readonly lines: readonly string[];
  readonly shown: readonly string[];
}

/** By default, the first column of times or numbers is the axis, and all other numeric columns are lines. */
export function linesOf(
  { meta }: Pick<SqlResult, 'meta'>,
  chosen: { readonly x: string | undefined; readonly y: string | undefined },
): ChartChoice {
  const numbers = meta.filter(({ type }) => isNumberType(type)).map(({ name }) => name);
  const times = meta.filter(({ type }) => TIME.test(type)).map(({ name }) => name);
  const axes = meta.map(({ name }) => name).filter((name) => numbers.includes(name) || times.includes(name));
  const axis = axes.find((name) => name === chosen.x) ?? (numbers.length === 1 && times.length === 0 ? numbers[0] : (times[0] ?? axes[0]));
  const lines = numbers.length === 1 && times.length === 0 ? numbers : numbers.filter((name) => name !== axis);
  const named = chosen.y?.split(',') ?? [];
  const wanted = lines.filter((name) => named.includes(name));
  return { axes, axis, lines, shown: wanted.length > 0 ? wanted : lines.slice(0, 1) };
}

interface ChartLine {
  readonly name: string;
  /** Between 0 and 1 on both axes, sorted by the first. */
  readonly points: readonly (readonly [number, number])[];
}

interface ChartPoints {
  readonly lines: readonly ChartLine[];
  readonly low: number;
  readonly high: number;
  readonly first: string;
  readonly last: string;
}

/** 64-bit integers arrive as strings; a time becomes milliseconds. */
function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value === '') return NaN;
  const number = Number(value);
  return Number.isNaN(number) ? Date.parse(value.replace(' ', 'T')) : number;
}

export function chartOf({ data }: Pick<SqlResult, 'data'>, axis: string, names: readonly string[]): ChartPoints {
  const rows = data
    .map((row, at) => ({ row, x: names.includes(axis) ? at : numberOf(row[axis]) }))
    .filter(({ x }) => Number.isFinite(x))
    .sort((a, b) => a.x - b.x);
  const values = names.flatMap((name) => rows.map(({ row }) => numberOf(row[name]))).filter(Number.isFinite);
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const [from, to] = [rows[0]?.x ?? 0, rows.at(-1)?.x ?? 1];
  const share = (value: number, least: number, most: number): number => (most === least ? 0.5 : (value - least) / (most - least));
  const lines = names.map((name) => ({
    name,
    points: rows.flatMap(({ row, x }) => {
      const y = numberOf(row[name]);
      return Number.isFinite(y) ? [[share(x, from, to), share(y, low, high)] as const] : [];
    }),
  }));
  const text = (row: Readonly<Record<string, unknown>> | undefined): string => cellText(row?.[axis], 40);
  return { lines, low, high, first: text(rows[0]?.row), last: text(rows.at(-1)?.row) };
}

export function cellText(value: unknown, most: number): string {
  if (value === null || value === undefined) return 'null';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
