// Long texts are compared by their SHA-256: the audit hashes those of the log itself, and the engine those of the tables. So a
// page of 28 kB does not travel to the engine once more only to be hashed there.
import { hash } from 'node:crypto';
import type { Cell, Row } from '../../streams/core/ports.ts';
import type { TableName } from './rows/tables.ts';

const LONG_TEXTS: Readonly<Partial<Record<TableName, readonly string[]>>> = { turns: ['text', 'tool_result'] };

/** Texts from this length on are remembered with their digest: many turns read the same page, and a look-up of one costs a tenth. */
const REMEMBERED_CHARS = 16_384;
/** Characters of remembered texts. */
const MOST_CHARS = 64_000_000;

let remembered = new Map<string, string>();
let chars = 0;

function digestOf(text: string): string {
  if (text.length < REMEMBERED_CHARS) return hash('sha256', text, 'hex');
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const digest = hash('sha256', text, 'hex');
  if (chars + text.length > MOST_CHARS) {
    remembered = new Map();
    chars = 0;
  }
  remembered.set(text, digest);
  chars += text.length;
  return digest;
}

/** The row with digests in place of its long texts. */
export function digested(table: TableName, row: Row): Row {
  const columns = LONG_TEXTS[table];
  if (columns === undefined) return row;
  const copy: Record<string, Cell> = { ...row };
  for (const column of columns) copy[column] = digestOf(String(row[column]));
  return copy;
}

/** Bytes of a row that are left when its long texts are digests, about. */
export function weightOf(table: TableName, row: Row, bytes: number): number {
  const texts = (LONG_TEXTS[table] ?? []).reduce((sum, column) => sum + String(row[column]).length, 0);
  return Math.max(1_000, bytes - texts);
}

/** SELECT of place and hash of each row of a table, as the scratch makes it of rows with digests. */
export function hashesFrom(table: TableName, where: string): string {
  const columns = LONG_TEXTS[table];
  if (columns === undefined) return `select _topic, _partition, _offset, sipHash64(*) as hash from ${table} where ${where}`;
  const digests = columns.map((column) => `lower(hex(SHA256(${column}))) as ${column}`).join(', ');
  return `select _topic, _partition, _offset, sipHash64(*) as hash from (select * replace (${digests}) from ${table} where ${where})`;
}
