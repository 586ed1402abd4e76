// The position after a page: base64url of a JSON array with a tag and the last row's sort key. Opaque to clients. Rows that arrive between
// two requests neither shift the following pages nor make them repeat rows. The tag identifies the list and its filters, so that a cursor
// is valid only for the list that issued it.
import { createHash } from 'node:crypto';
import { PlatformError } from '../../streams/core/errors.ts';

/** ClickHouse types of sort key columns; `time` is compared as microseconds. */
export type KeyKind = 'String' | 'Int32' | 'Int64' | 'Float64' | 'time';

/** Null stands for NaN. */
export type CursorKey = readonly (string | number | null)[];

/** Equal only for equal lists; `list` is any JSON value that describes a list and its filters. */
export const cursorTag = (list: unknown): string => createHash('sha256').update(JSON.stringify(list)).digest('base64url').slice(0, 11);

export const encodeCursor = (tag: string, key: CursorKey): string => Buffer.from(JSON.stringify([tag, ...key])).toString('base64url');

export interface PageCursor {
  readonly tag: string;
  readonly key: CursorKey;
}

/** Throws CURSOR_MISMATCH when the cursor is not from a list whose sort key has columns of these kinds. */
export function decodeCursor(cursor: string, kinds: readonly KeyKind[]): PageCursor {
  const parsed = parse(cursor);
  if (!Array.isArray(parsed)) throw foreignCursor();
  const [tag, ...key] = parsed as unknown[];
  if (typeof tag !== 'string' || key.length !== kinds.length || !kinds.every((kind, index) => fits(key[index], kind))) {
    throw foreignCursor();
  }
  return { tag, key: key as CursorKey };
}

function fits(value: unknown, kind: KeyKind): boolean {
  switch (kind) {
    case 'String':
      return typeof value === 'string';
    case 'time':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
    case 'Int32':
      return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;
    case 'Int64':
      return Number.isSafeInteger(value);
    case 'Float64':
      return value === null || typeof value === 'number';
  }
}

export const foreignCursor = (): PlatformError =>
  new PlatformError(
    'CURSOR_MISMATCH',
    'reading the request: query parameter cursor is not from this list with these filters; start without it',
  );

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
