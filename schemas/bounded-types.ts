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

/** Skips blocks that give their size in bytes, and returns the number of items of the next block that does not; 0 at the end. */
function nextBlock(tap: Tap, bound: Readonly<ValueBound>): number {
  for (;;) {
    const count = tap.readLong();
    checkLength(Math.abs(count), tap, bound);
    if (count >= 0) return count;
    const size = tap.readLong();
    checkLength(size, tap, bound);
    tap.pos += size;
  }
}

/** Skips a text and returns the position of its first byte. */
function skipText(tap: Tap, bound: Readonly<ValueBound>): number {
  const length = tap.readLong();
  checkLength(length, tap, bound);
  const start = tap.pos;
  tap.pos += length;
  return start;
}

function boundedString(bound: Readonly<ValueBound>): avro.Type {
  class BoundedStringType extends avro.types.StringType {
    _read(tap: Tap): string {
      const start = skipText(tap, bound);
      return tap.buf.toString('utf8', start, tap.pos);
    }
  }
  return new BoundedStringType();
}

function cachedString(bound: Readonly<ValueBound>, cache: TextCache): avro.Type {
  class CachedStringType extends avro.types.StringType {
    _read(tap: Tap): string {
      const start = skipText(tap, bound);
      return cache.read(tap.buf, start, tap.pos);
    }
  }
  return new CachedStringType();
}

/** Most lists of a turn are empty, which is a single byte. */
function skipEmpty(tap: Tap): boolean {
  if (tap.buf[tap.pos] !== 0) return false;
  tap.pos += 1;
  return true;
}

/** A type hook for avsc. `bound` must be set before a value is decoded. Texts are read through `cache`, if there is one. */
export function boundedTypes(bound: Readonly<ValueBound>, cache?: TextCache): TypeHook {
  /** avsc calls `_read` on the type or on a resolver; both have the type of their items under the same name. */
  class BoundedArrayType extends avro.types.ArrayType {
    _read(this: { readonly itemsType: ItemType }, tap: Tap): unknown[] {
      let items: unknown[] | undefined;
      for (let count = tap.readLong(), at = 0; count !== 0; count = tap.readLong()) {
        if (count < 0) tap.readLong(); // the size of the block
        let left = Math.abs(count);
        checkLength(left, tap, bound);
        items ??= new Array<unknown>(left); // of the right size: an array that grows takes room for 17 items at once
        for (; left > 0; left -= 1) items[at++] = this.itemsType._read(tap);
      }
      return items ?? [];
    }

    _skip(tap: Tap): void {
      if (skipEmpty(tap)) return;
      const items = this.itemsType as unknown as ItemType;
      for (let left = nextBlock(tap, bound); left > 0; left = nextBlock(tap, bound)) for (; left > 0; left -= 1) items._skip(tap);
    }
  }

  /** No published schema has a map, so maps of foreign schemas are only skipped. */
  class BoundedMapType extends avro.types.MapType {
    _skip(tap: Tap): void {
      const values = this.valuesType as ItemType;
      for (let left = nextBlock(tap, bound); left > 0; left = nextBlock(tap, bound))
        for (; left > 0; left -= 1) {
          const length = tap.readLong();
          tap.pos += Math.max(0, length);
          values._skip(tap);
        }
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
    if (schema === 'string') return cache === undefined ? boundedString(bound) : cachedString(bound, cache);
    if (schema === 'bytes') return new BoundedBytesType();
    const { type } = schema as { readonly type?: unknown };
    if (type === 'array') return new BoundedArrayType(schema, options);
    return type === 'map' ? new BoundedMapType(schema, options) : undefined;
  };
}
