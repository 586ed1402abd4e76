// Where the fields of an Avro record lie in its bytes, found without making a value of any of them: a reader that only
// moves texts from one place to another never turns them into strings.
import { isUtf8 } from 'node:buffer';
import { COUNTS } from './counts.ts';
import { Cursor } from './cursor.ts';

export interface Layout {
  /** Names of the record's fields in the order of their bytes. */
  readonly fields: readonly string[];
  /**
   * True when the bytes from `start` to the end are one record in plain form: whole numbers within their type, texts in
   * UTF-8, no block of an array with a negative count, no negative count of anything. Such a record decodes without an error; of any other nothing is
   * said.
   */
  fits(bytes: Buffer, start: number): boolean;
  /** Puts where each field of a record that fits and begins at `start` begins into `starts`. */
  locate(bytes: Buffer, start: number, starts: Uint32Array): void;
}

type Schema = string | readonly Schema[] | Complex;

interface Field {
  readonly name: string;
  readonly type: Schema;
}

interface Complex {
  readonly type: Schema;
  readonly name?: string;
  readonly items?: Schema;
  readonly fields?: readonly Field[];
}

/** Passes over one value. Answers false when it is not in plain form; what runs past the end is found at the end. */
type Pass = (cursor: Cursor) => boolean;

/** The layout of a record's schema. Throws RangeError for a type that none of our schemas has. */
export function layoutOf(schema: string): Layout {
  const { fields = [] } = JSON.parse(schema) as Complex;
  const passesOf = (text: Pass): readonly Pass[] => {
    const passes = new Passes(text);
    return fields.map((field) => passes.ofField(field));
  };
  const [checks, skips] = [passesOf(checkText), passesOf(skipBytes)];
  const cursor = new Cursor(Buffer.alloc(0));
  return {
    fields: fields.map(({ name }) => name),
    fits(bytes, start) {
      cursor.bytes = bytes;
      cursor.at = start;
      for (const check of checks) if (!check(cursor)) return false;
      return cursor.at === bytes.length;
    },
    locate(bytes, start, starts) {
      cursor.bytes = bytes;
      cursor.at = start;
      for (let field = 0; field < skips.length; field += 1) {
        starts[field] = cursor.at;
        skips[field]?.(cursor);
      }
    },
  };
}

/** Up to this length a loop is faster than a call out of JavaScript. */
const SHORT = 96;

function skipBytes(cursor: Cursor): boolean {
  const length = cursor.number();
  cursor.at += length;
  return length >= 0 && cursor.at <= cursor.bytes.length;
}

function checkText(cursor: Cursor): boolean {
  const length = cursor.number();
  const { bytes, at: start } = cursor;
  const end = start + length;
  if (length < 0 || end > bytes.length) return false;
  cursor.at = end;
  if (length > SHORT) return isUtf8(bytes.subarray(start, end));
  for (let at = start; at < end; at += 1) if ((bytes[at] as number) > 0x7f) return isUtf8(bytes.subarray(start, end));
  return true;
}

/** A number of at most `whole` bytes, or of one more that is at most `last`. */
const checkNumber =
  (whole: number, last: number): Pass =>
  (cursor) => {
    const { bytes } = cursor;
    for (let count = 0; count < whole; count += 1) {
      const byte = bytes[cursor.at] ?? 0;
      cursor.at += 1;
      if (byte < 0x80) return true;
    }
    const byte = bytes[cursor.at] ?? 0;
    cursor.at += 1;
    return byte <= last;
  };

const skipFixed =
  (length: number): Pass =>
  (cursor) => {
    cursor.at += length;
    return true;
  };

const primitives: ReadonlyMap<string, Pass> = new Map([
  ['null', () => true],
  // What Avro calls a boolean is the byte 0 or 1.
  ['boolean', checkNumber(0, 1)],
  // 32 bits; and 53, which a number of JavaScript holds.
  ['int', checkNumber(4, 0x0f)],
  ['long', checkNumber(7, 0x0f)],
  ['float', skipFixed(4)],
  ['double', skipFixed(8)],
  ['bytes', skipBytes],
]);

/** Passes of the types of one schema. */
class Passes {
  readonly #text: Pass;
  /** Records by their names, by which other fields may ask for them again. */
  readonly #named = new Map<string, Pass>();

  constructor(text: Pass) {
    this.#text = text;
  }

  ofField({ name, type }: Field): Pass {
    const pass = this.of(type);
    const isCount = COUNTS.has(name) && (type === 'int' || type === 'long');
    return isCount ? (cursor) => isNotNegative(cursor) && pass(cursor) : pass;
  }

  of(type: Schema): Pass {
    if (typeof type === 'string') return this.#ofName(type);
    if (isUnion(type)) return passUnion(type.map((branch) => this.of(branch)));
    if (type.type === 'array' && type.items !== undefined && type.items !== 'null') return passArray(this.of(type.items));
    return type.type === 'record' ? this.#ofRecord(type) : this.of(type.type);
  }

  #ofName(name: string): Pass {
    const pass = name === 'string' ? this.#text : (this.#named.get(name) ?? primitives.get(name));
    if (pass === undefined) throw new RangeError(`no layout is known for ${name}`);
    return pass;
  }

  #ofRecord({ name = '', fields = [] }: Complex): Pass {
    const pass = passAll(fields.map((field) => this.ofField(field)));
    this.#named.set(name, pass);
    return pass;
  }
}

/** Avro keeps the sign in the lowest bit. */
const isNotNegative = ({ bytes, at }: Cursor): boolean => ((bytes[at] ?? 0) & 1) === 0;

const isUnion = (type: readonly Schema[] | Complex): type is readonly Schema[] => Array.isArray(type);

const passUnion =
  (branches: readonly Pass[]): Pass =>
  (cursor) =>
    branches[cursor.number()]?.(cursor) ?? false;

const passAll =
  (passes: readonly Pass[]): Pass =>
  (cursor) => {
    for (const pass of passes) if (!pass(cursor)) return false;
    return true;
  };

const passArray =
  (item: Pass): Pass =>
  (cursor) => {
    for (let count = cursor.number(); count !== 0; count = cursor.number()) {
      if (count < 0) return false;
      for (let left = count; left > 0; left -= 1) if (!item(cursor) || cursor.at > cursor.bytes.length) return false;
    }
    return cursor.at <= cursor.bytes.length;
  };
