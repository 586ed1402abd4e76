// Arrays and maps whose counts are checked against the bytes that are left. avsc repeats a loop as often as a count in the bytes demands: a
// single record of fifty bytes would keep a reader busy for minutes, or take all of its memory.
import avro from 'avsc';

/** The position in the bytes that avsc decodes; its types do not declare it. */
export interface Tap {
  readonly buf: Buffer;
  pos: number;
  readLong(): number;
  readString(): string;
}

interface ItemType {
  _read(tap: Tap): unknown;
  _skip(tap: Tap): void;
}

/** Every item of a published schema takes at least one byte. */
function checkCount(count: number, { buf, pos }: Tap): void {
  if (count > buf.length - pos) throw new RangeError(`${count} items in ${Math.max(0, buf.length - pos)} bytes`);
}

/** Skips blocks of items; a negative count precedes the size of its block in bytes. */
function skipBlocks(tap: Tap, skipItem: () => void): void {
  for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
    if (count < 0) {
      const size = tap.readLong();
      if (size < 0) throw new RangeError(`a block of ${size} bytes`);
      tap.pos += size;
      continue;
    }
    checkCount(count, tap);
    for (let left = count; left > 0; left -= 1) skipItem();
  }
}

/** avsc calls `_read` on the type or on a resolver, which have their items under the same name. */
class BoundedArrayType extends avro.types.ArrayType {
  _read(this: { readonly itemsType: ItemType }, tap: Tap): unknown[] {
    const items: unknown[] = [];
    for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
      if (count < 0) tap.readLong(); // the size of the block
      checkCount(Math.abs(count), tap);
      for (let left = Math.abs(count); left > 0; left -= 1) items.push(this.itemsType._read(tap));
    }
    return items;
  }

  _skip(tap: Tap): void {
    const items = this.itemsType as unknown as ItemType;
    skipBlocks(tap, () => {
      items._skip(tap);
    });
  }
}

/** No published schema has a map, so maps of foreign schemas are only skipped. */
class BoundedMapType extends avro.types.MapType {
  _skip(tap: Tap): void {
    const values = this.valuesType as ItemType;
    skipBlocks(tap, () => {
      const length = tap.readLong();
      tap.pos += Math.max(0, length);
      values._skip(tap);
    });
  }
}

/** A type hook for avsc. */
export function boundedArrays(schema: avro.Schema, options: avro.ForSchemaOptions): avro.Type | undefined {
  const { type } = schema as { readonly type?: unknown };
  if (type === 'array') return new BoundedArrayType(schema, options);
  return type === 'map' ? new BoundedMapType(schema, options) : undefined;
}
