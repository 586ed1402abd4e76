// Finds the positions of the fields of an Avro record in its bytes without decoding values: a reader that only moves texts from one place
// to another never turns them into strings. Each published version of a schema has its own layout, which finds the fields of the newest
// version; those that it lacks are found in the encoded defaults.
import { isUtf8 } from 'node:buffer';
import avro from 'avsc';
import { COUNTS } from './counts.ts';
import { Cursor } from './cursor.ts';

export interface RecordLayout {
  /** Names of the reader's fields, in its order. */
  readonly fields: readonly string[];
  /** Encoded defaults of the fields that the writer does not have. */
  readonly defaults: Buffer;
  /**
   * True when the bytes from `start` to the end are one record in plain form: integers within the range of their type, texts in UTF-8, no
   * array block with a negative count, each array of 32-bit numbers in one block, and no negative value in a field of COUNTS. Such a record
   * decodes without an error. False does not mean that the record is invalid.
   */
  fits(bytes: Buffer, start: number): boolean;
  /**
   * Writes the position of each of the reader's fields to `starts`, for a record that fits and begins at `start`. A field whose
   * default begins at `at` in `defaults` gets `~at`, which is negative.
   */
  locate(bytes: Buffer, start: number, starts: Int32Array): void;
  /**
   * A pass over a record that fits. It calls the functions of `takes`, which is indexed by the reader's fields, in the order of the bytes.
   * It skips fields without one, and ends after the last one. The function of a field that the writer does not have is not called.
   */
  passOf(takes: readonly (FieldTake | undefined)[]): FieldTake;
}

/** Reads the value at the cursor for one row, and moves the cursor past it. */
export interface FieldTake {
  (cursor: Cursor, row: number): void;
  /** An encoded value that does not have to be read. */
  readonly unset?: Buffer;
}

type AvroSchema = string | readonly AvroSchema[] | ComplexSchema;

interface SchemaField {
  readonly name: string;
  readonly type: AvroSchema;
}

interface ComplexSchema {
  readonly type: AvroSchema;
  readonly name?: string;
  readonly items?: AvroSchema;
  readonly fields?: readonly SchemaField[];
}

/** Skips one value. Returns false when it is not in plain form; a value that runs past the end is detected at the end. */
type ValueSkipper = (cursor: Cursor) => boolean;

/**
 * Finds the fields of `reader` in records of `writer`; both are the text of a record's schema. Undefined when a field has different types
 * in them, or is missing without a default: such records have to be decoded. Throws RangeError for a type that no published schema uses.
 */
export function layoutBetween(writer: string, reader: string): RecordLayout | undefined {
  const plan = planOf(writer, reader);
  return plan === undefined ? undefined : layoutAs(plan, JSON.parse(writer) as ComplexSchema);
}

/** The layout of records for the schema that wrote them. */
export function layoutOf(schema: string): RecordLayout {
  const layout = layoutBetween(schema, schema);
  if (layout === undefined) throw new RangeError('a schema does not read its own records');
  return layout;
}

interface ReadingPlan {
  /** Names of the reader's fields. */
  readonly fields: readonly string[];
  readonly defaults: Buffer;
  /** For each of the reader's fields, the index of the writer's, or `~at` of its default. */
  readonly sources: readonly number[];
}

function planOf(writer: string, reader: string): ReadingPlan | undefined {
  const [written, read] = [recordOf(writer), recordOf(reader)];
  const sources: number[] = [];
  const defaults: Buffer[] = [];
  let end = 0;
  for (const field of read) {
    const at = written.findIndex(({ name }) => name === field.name);
    const value: unknown = at < 0 ? field.defaultValue() : undefined;
    if (at < 0 ? value === undefined : written[at]?.type.equals(field.type) !== true) return undefined;
    sources.push(at < 0 ? ~end : at);
    if (at >= 0) continue;
    const bytes = field.type.toBuffer(value);
    defaults.push(bytes);
    end += bytes.length;
  }
  return { fields: read.map(({ name }) => name), defaults: Buffer.concat(defaults), sources };
}

function recordOf(schema: string): avro.types.RecordType['fields'] {
  const type = avro.Type.forSchema(JSON.parse(schema) as avro.Schema);
  if (type instanceof avro.types.RecordType) return type.fields;
  throw new RangeError('only a record has a layout');
}

function layoutAs({ fields: names, defaults, sources }: ReadingPlan, { fields = [] }: ComplexSchema): RecordLayout {
  const passesOf = (kind: PassKind): readonly ValueSkipper[] => {
    const passes = new Passes(kind);
    return fields.map((field) => passes.ofField(field));
  };
  const [checks, skips] = [passesOf({ text: checkText, wholes: checkWholes }), passesOf({ text: skipBytes, wholes: skipWholes })];
  const cursor = new Cursor(Buffer.alloc(0));
  /** For each of the writer's fields, the index of the reader's; -1 for one that it does not have. */
  const places = fields.map((_, at) => sources.indexOf(at));
  const absent = sources.flatMap((source, place) => (source < 0 ? [{ place, source }] : []));
  return {
    fields: names,
    defaults,
    fits(bytes, start) {
      cursor.bytes = bytes;
      cursor.at = start;
      for (const check of checks) if (!check(cursor)) return false;
      return cursor.at === bytes.length;
    },
    locate(bytes, start, starts) {
      cursor.bytes = bytes;
      cursor.at = start;
      for (const { place, source } of absent) starts[place] = source;
      for (let field = 0; field < skips.length; field += 1) {
        const place = places[field] as number;
        if (place >= 0) starts[place] = cursor.at;
        skips[field]?.(cursor);
      }
    },
    passOf(takes) {
      const last = places.findLastIndex((place) => takes[place] !== undefined);
      const steps = together(skips.slice(0, last + 1).map((skip, field): FieldTake => takes[places[field] as number] ?? skip));
      return (at, row) => {
        for (const step of steps) step(at, row);
      };
    },
  };
}

/** Skips fields that follow each other at once when all of them are unset, as is usual for those that were added later. */
function together(takes: readonly FieldTake[]): readonly FieldTake[] {
  const runs: FieldTake[][] = [];
  for (const take of takes) {
    const run = runs.at(-1);
    if (take.unset !== undefined && run?.[0]?.unset !== undefined) run.push(take);
    else runs.push([take]);
  }
  return runs.flatMap((run) => (run.length === 1 ? run : [runOf(run)]));
}

function runOf(takes: readonly FieldTake[]): FieldTake {
  const unset = Buffer.concat(takes.flatMap((take) => take.unset ?? []));
  return (cursor, row) => {
    if (cursor.isAt(unset)) cursor.at += unset.length;
    else for (const take of takes) take(cursor, row);
  };
}

/** Up to this length, bytes, a loop is faster than a call of native code. */
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

/** Accepts a number of at most `whole` bytes, or of one more byte if that byte is at most `last`. */
const checkNumber =
  (whole: number, last: number): ValueSkipper =>
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
  (length: number): ValueSkipper =>
  (cursor) => {
    cursor.at += length;
    return true;
  };

const primitives: ReadonlyMap<string, ValueSkipper> = new Map([
  ['null', () => true],
  // An Avro boolean is the byte 0 or 1.
  ['boolean', checkNumber(0, 1)],
  // 32 bits, and the 53 bits that a JavaScript number holds.
  ['int', checkNumber(4, 0x0f)],
  ['long', checkNumber(7, 0x0f)],
  ['float', skipFixed(4)],
  ['double', skipFixed(8)],
  ['bytes', skipBytes],
]);

/** The functions in which a checking pass and a skipping pass differ. */
interface PassKind {
  readonly text: ValueSkipper;
  readonly wholes: ValueSkipper;
}

/** Builds the passes over the types of one schema. */
class Passes {
  readonly #text: ValueSkipper;
  readonly #wholes: ValueSkipper;
  /** Record types by name, because later fields may refer to them by name. */
  readonly #named = new Map<string, ValueSkipper>();

  constructor({ text, wholes }: PassKind) {
    this.#text = text;
    this.#wholes = wholes;
  }

  ofField({ name, type }: SchemaField): ValueSkipper {
    const pass = this.of(type);
    const isCount = COUNTS.has(name) && (type === 'int' || type === 'long');
    return isCount ? (cursor) => isNotNegative(cursor) && pass(cursor) : pass;
  }

  of(type: AvroSchema): ValueSkipper {
    if (typeof type === 'string') return this.#ofName(type);
    if (isUnion(type)) return passUnion(type.map((branch) => this.of(branch)));
    if (type.type === 'array' && type.items !== undefined && type.items !== 'null') return this.#ofItems(type.items);
    return type.type === 'record' ? this.#ofRecord(type) : this.of(type.type);
  }

  #ofItems(items: AvroSchema): ValueSkipper {
    if (items === 'int') return this.#wholes;
    return items === 'float' ? passFloats : passArray(this.of(items));
  }

  #ofName(name: string): ValueSkipper {
    const pass = name === 'string' ? this.#text : (this.#named.get(name) ?? primitives.get(name));
    if (pass === undefined) throw new RangeError(`no layout is known for ${name}`);
    return pass;
  }

  #ofRecord({ name = '', fields = [] }: ComplexSchema): ValueSkipper {
    const pass = passAll(fields.map((field) => this.ofField(field)));
    this.#named.set(name, pass);
    return pass;
  }
}

/** Avro keeps the sign in the lowest bit. */
const isNotNegative = ({ bytes, at }: Cursor): boolean => ((bytes[at] ?? 0) & 1) === 0;

const isUnion = (type: readonly AvroSchema[] | ComplexSchema): type is readonly AvroSchema[] => Array.isArray(type);

const passUnion =
  (branches: readonly ValueSkipper[]): ValueSkipper =>
  (cursor) =>
    branches[cursor.number()]?.(cursor) ?? false;

const passAll =
  (passes: readonly ValueSkipper[]): ValueSkipper =>
  (cursor) => {
    for (const pass of passes) if (!pass(cursor)) return false;
    return true;
  };

/** Lists of token ids are most of a turn's bytes: one loop, without a branch for each number. */
function checkWholes(cursor: Cursor): boolean {
  const { bytes } = cursor;
  const count = cursor.number();
  if (count <= 0 || count > bytes.length - cursor.at) return count === 0;
  let { at } = cursor;
  let flaws = 0;
  /** Bytes of the number before this one. */
  let before = 0;
  for (let left = count; left > 0 && at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    const isMore = byte >>> 7;
    // A fifth byte must be the last one, and holds four bits.
    flaws |= (before >> 2) & ((0x0f - byte) >>> 31);
    before = (before + 1) & -isMore & 7;
    left -= 1 - isMore;
  }
  cursor.at = at + 1;
  return flaws === 0 && bytes[at] === 0;
}

/** For a list that was checked. */
function skipWholes(cursor: Cursor): boolean {
  const { bytes } = cursor;
  const count = cursor.number();
  if (count === 0) return true;
  let { at } = cursor;
  for (let left = count; left > 0; at += 1) left -= 1 - ((bytes[at] as number) >>> 7);
  cursor.at = at + 1;
  return true;
}

function passFloats(cursor: Cursor): boolean {
  const count = cursor.number();
  if (count === 0) return true;
  cursor.at += 4 * count + 1;
  return count > 0 && cursor.bytes[cursor.at - 1] === 0;
}

const passArray =
  (item: ValueSkipper): ValueSkipper =>
  (cursor) => {
    for (let count = cursor.number(); count !== 0; count = cursor.number()) {
      if (count < 0) return false;
      for (let left = count; left > 0; left -= 1) if (!item(cursor) || cursor.at > cursor.bytes.length) return false;
    }
    return cursor.at <= cursor.bytes.length;
  };
