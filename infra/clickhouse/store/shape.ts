import { tokens } from './sql-text.ts';

/** The longest text that is looked at; what lies behind does not make a statement another. */
const MAX_CHARS = 100_000;

/** A statement without its texts and numbers: the same for all that differ in values only, and safe to write down. */
export function shapeOf(sql: string): string {
  const text = sql.slice(0, MAX_CHARS);
  return [...tokens(text)].map(({ kind, start, end }) => (kind === 'text' ? '?' : text.slice(start, end))).join(' ');
}
