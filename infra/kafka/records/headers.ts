// Decodes the headers of a record.
import type { Cursor } from '../../../schemas/cursor.ts';

const empty = Buffer.alloc(0);
const noHeaders: Readonly<Record<string, Buffer>> = Object.freeze({});

export interface Header {
  readonly name: string;
  readonly nameBytes: Buffer;
  readonly value: Buffer;
}

/**
 * Headers of a record. Most of them equal those of the previous record: equal names and values are reused, which costs less than decoding
 * them again. `previous` is kept up to date.
 */
export function decodeHeaders(cursor: Cursor, previous: Header[]): Readonly<Record<string, Buffer>> {
  const count = cursor.number();
  if (count <= 0) return noHeaders;
  const headers: Record<string, Buffer> = {};
  for (let index = 0; index < count; index += 1) {
    const header = decodeHeader(cursor, previous[index]);
    if (index < MAX_REMEMBERED) previous[index] = header;
    const { name, value } = header;
    if (name === '__proto__') Object.defineProperty(headers, name, { value, enumerable: true });
    else if (!Object.hasOwn(headers, name)) headers[name] = value;
  }
  return headers;
}

const MAX_REMEMBERED = 16;

function decodeHeader(cursor: Cursor, previous: Header | undefined): Header {
  const { bytes } = cursor;
  const nameLength = Math.max(0, cursor.number());
  const nameStart = cursor.at;
  cursor.at += nameLength;
  const valueLength = Math.max(0, cursor.number());
  const valueStart = cursor.at;
  cursor.at += valueLength;
  if (previous !== undefined && nameLength === previous.nameBytes.length && isAt(bytes, nameStart, previous.nameBytes)) {
    if (valueLength === previous.value.length && isAt(bytes, valueStart, previous.value)) return previous;
    return { name: previous.name, nameBytes: previous.nameBytes, value: bytes.subarray(valueStart, cursor.at) };
  }
  const nameBytes = bytes.subarray(nameStart, nameStart + nameLength);
  const value = valueLength === 0 ? empty : bytes.subarray(valueStart, cursor.at);
  return { name: nameBytes.toString('utf8'), nameBytes, value };
}

/** Whether the bytes at `start` are these. Compares from the end, where values usually differ. */
function isAt(bytes: Buffer, start: number, expected: Buffer): boolean {
  for (let index = expected.length - 1; index >= 0; index -= 1) if (bytes[start + index] !== expected[index]) return false;
  return true;
}
