// Compares long texts by SHA-256: the audit hashes those of the log, and the engine those of the tables, so that a page of 28 kB does not
// travel to the engine only to be hashed there.
import { hash } from 'node:crypto';
import type { Cell, Row } from '../../streams/core/ports.ts';
import type { TableName } from './rows/tables.ts';

const LONG_TEXTS: Readonly<Partial<Record<TableName, readonly string[]>>> = { turns: ['text', 'tool_result'] };

/** Digests of texts at least this long are cached: many turns read the same page, and a lookup costs a tenth of the hash. */
const REMEMBERED_CHARS = 16_384;
/** Total characters of cached texts. */
const MOST_CHARS = 64_000_000;

/** Digests of texts that a reader passed separately: one buffer for each distinct text. */
const ofBuffers = new WeakMap<Buffer, string>();

function digestApart(text: Buffer): string {
  const known = ofBuffers.get(text) ?? hash('sha256', text, 'hex');
  ofBuffers.set(text, known);
  return known;
}

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

/** The row with digests instead of its long texts. `apart` is the tool result if the row was built without it. */
export function digested(table: TableName, row: Row, apart?: Buffer): Row {
  const columns = LONG_TEXTS[table];
  if (columns === undefined) return row;
  const copy: Record<string, Cell> = { ...row };
  for (const column of columns) {
    copy[column] = apart !== undefined && column === 'tool_result' ? digestApart(apart) : digestOf(String(row[column]));
  }
  return copy;
}

/** Approximate bytes of a row after digests replace its long texts. */
export function weightOf(table: TableName, row: Row, bytes: number): number {
  const texts = (LONG_TEXTS[table] ?? []).reduce((sum, column) => sum + String(row[column]).length, 0);
  return Math.max(1_000, bytes - texts);
}

/** SELECT of the position and hash of each row of a table, equal to what the scratch table computes from rows with digests. */
export function hashesFrom(table: TableName, where: string): string {
  const columns = LONG_TEXTS[table];
  if (columns === undefined) return `select _topic, _partition, _offset, sipHash64(*) as hash from ${table} where ${where}`;
  const digests = columns.map((column) => `lower(hex(SHA256(${column}))) as ${column}`).join(', ');
  return `select _topic, _partition, _offset, sipHash64(*) as hash from (select * replace (${digests}) from ${table} where ${where})`;
}
