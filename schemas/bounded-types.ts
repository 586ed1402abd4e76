// Avro types that read no further than the end of their value. avsc repeats a loop as often as a count in the bytes demands, and copies as
// many bytes as a length demands: a single record of fifty bytes would keep a reader busy for minutes, or take all of its memory. Values
// are decoded in place, so the bytes after a value are those of other records.
import avro from 'avsc';
import type { TextCache } from './text-cache.ts';

/** The position in the bytes that avsc decodes; its types do not declare it. */
interface Tap {
  readonly buf: Buffer;
  pos: number;
  readLong(): number;
  readBytes(): Buffer;
}

/** The end of the value that is being decoded. */
export interface ValueBound {
  end: number;
}

type TypeHook = avro.ForSchemaOptions['typeHook'];

interface ItemType {
  _read(tap: Tap): unknown;
  _skip(tap: Tap): void;
}

/** Every item of a published schema takes at least one byte. */
function checkLength(length: number, tap: Tap, bound: Readonly<ValueBound>): void {
  if (length < 0 || length > bound.end - tap.pos)
    throw new RangeError(`${length} items or bytes in ${Math.max(0, bound.end - tap.pos)} bytes`);
}

/** Skips blocks of items; a negative count precedes the size of its block in bytes. */
function skipBlocks(tap: Tap, bound: Readonly<ValueBound>, skipItem: () => void): void {
  for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
    if (count < 0) {
      const size = tap.readLong();
      checkLength(size, tap, bound);
      tap.pos += size;
      continue;
    }
    checkLength(count, tap, bound);
    for (let left = count; left > 0; left -= 1) skipItem();
  }
}

/** A type hook for avsc. `bound` must be set before a value is decoded. Texts are read through `cache`, if there is one. */
export function boundedTypes(bound: Readonly<ValueBound>, cache?: TextCache): TypeHook {
  const textOf = (bytes: Buffer, start: number, end: number): string =>
    cache === undefined ? bytes.toString('utf8', start, end) : cache.read(bytes, start, end);

  /** avsc calls `_read` on the type or on a resolver, which have their items under the same name. */
  class BoundedArrayType extends avro.types.ArrayType {
    _read(this: { readonly itemsType: ItemType }, tap: Tap): unknown[] {
      const items: unknown[] = [];
      for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
        if (count < 0) tap.readLong(); // the size of the block
        checkLength(Math.abs(count), tap, bound);
        for (let left = Math.abs(count); left > 0; left -= 1) items.push(this.itemsType._read(tap));
      }
      return items;
    }

    _skip(tap: Tap): void {
      const items = this.itemsType as unknown as ItemType;
      skipBlocks(tap, bound, () => {
        items._skip(tap);
      });
    }
  }

  /** No published schema has a map, so maps of foreign schemas are only skipped. */
  class BoundedMapType extends avro.types.MapType {
    _skip(tap: Tap): void {
      const values = this.valuesType as ItemType;
      skipBlocks(tap, bound, () => {
        const length = tap.readLong();
        tap.pos += Math.max(0, length);
        values._skip(tap);
      });
    }
  }

  class BoundedStringType extends avro.types.StringType {
    _read(tap: Tap): string {
      const length = tap.readLong();
      checkLength(length, tap, bound);
      const start = tap.pos;
      tap.pos += length;
      return textOf(tap.buf, start, tap.pos);
    }
  }

  class BoundedBytesType extends avro.types.BytesType {
    _read(tap: Tap): Buffer {
      const before = tap.pos;
      checkLength(tap.readLong(), tap, bound);
      tap.pos = before;
      return tap.readBytes();
    }
  }

  return (schema, options) => {
    if (schema === 'string') return new BoundedStringType();
    if (schema === 'bytes') return new BoundedBytesType();
    const { type } = schema as { readonly type?: unknown };
    if (type === 'array') return new BoundedArrayType(schema, options);
    return type === 'map' ? new BoundedMapType(schema, options) : undefined;
  };
}
