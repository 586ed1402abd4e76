import { tokens } from '../sql-text.ts';

/** Text beyond this length does not distinguish statements. */
const MAX_CHARS = 100_000;

/** A statement without its strings and numbers: the same for all statements that differ only in values, and safe to store. */
export function shapeOf(sql: string): string {
  const text = sql.slice(0, MAX_CHARS);
  return [...tokens(text)].map(({ kind, start, end }) => (kind === 'text' ? '?' : text.slice(start, end))).join(' ');
}
