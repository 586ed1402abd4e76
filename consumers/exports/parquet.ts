// Joins Parquet files of the same schema into one as a stream: pages are copied unchanged, only their offsets change. So a file of any size
// can be made of pieces that fit into memory, one query per piece. Of each piece, only the description of its row groups is kept, a few
// kilobytes.
import { decodeStruct, encodeListHead, encodeStruct, type ThriftList, type ThriftStruct, type ThriftValue } from './thrift.ts';

const MAGIC = Buffer.from('PAR1');
const TAIL_BYTES = 8;

/** Field ids of Parquet's structs, from parquet.thrift. */
const FILE = { rows: 3, rowGroups: 4 } as const;
const ROW_GROUP = { columns: 1, fileOffset: 5, ordinal: 7 } as const;
const CHUNK = { fileOffset: 2, meta: 3, offsetIndexAt: 4, offsetIndexBytes: 5, columnIndexAt: 6, columnIndexBytes: 7 } as const;
const META = { dataPage: 9, indexPage: 10, dictionaryPage: 11, bloomFilter: 14 } as const;

export interface ParquetJoin {
  /** Takes a whole file; returns the next bytes of the joined file. */
  add(file: Buffer): Buffer;
  /** The end of the joined file. Requires at least one added file, which may have no rows. */
  end(): Buffer;
  /** Rows of all files so far. */
  readonly rows: number;
}

interface Footer {
  readonly struct: ThriftStruct;
  /** Start of the footer, which is the end of the pages. */
  readonly at: number;
}

export function createParquetJoin(): ParquetJoin {
  const groups: Buffer[] = [];
  let first: ThriftStruct | undefined;
  let written = 0;
  let rows = 0n;

  return {
    add(file) {
      const { struct, at } = footerOf(file);
      const head = first === undefined ? MAGIC : Buffer.alloc(0);
      // Each piece has its own magic bytes before its pages; the joined file has only one.
      const moved = BigInt(written + head.length - MAGIC.length);
      first ??= struct;
      for (const group of listOf(struct, FILE.rowGroups).items) groups.push(encodeStruct(moveGroup(structOf(group), moved)));
      rows += scalarOf(struct, FILE.rows);
      const bytes = Buffer.concat([head, file.subarray(MAGIC.length, at)]);
      written += bytes.length;
      return bytes;
    },
    end() {
      if (first === undefined) throw new Error('joining Parquet files: none was added');
      const footer = joinFooter(first, groups, rows);
      const size = Buffer.alloc(4);
      size.writeUInt32LE(footer.length);
      return Buffer.concat([footer, size, MAGIC]);
    },
    get rows() {
      return Number(rows);
    },
  };
}

function footerOf(file: Buffer): Footer {
  const size = file.length >= TAIL_BYTES + MAGIC.length ? file.readUInt32LE(file.length - TAIL_BYTES) : 0;
  const at = file.length - TAIL_BYTES - size;
  const whole =
    size > 0 && at >= MAGIC.length && file.subarray(0, MAGIC.length).equals(MAGIC) && file.subarray(-MAGIC.length).equals(MAGIC);
  if (!whole) throw new Error(`joining Parquet files: ${file.length} bytes are not a Parquet file`);
  return { struct: decodeStruct(file.subarray(at, file.length - TAIL_BYTES)), at };
}

/** The first file's footer with the rows and row groups of all files. */
function joinFooter(first: ThriftStruct, groups: readonly Buffer[], rows: bigint): Buffer {
  const before = new Map([...first.fields].filter(([id]) => id < FILE.rowGroups));
  before.set(FILE.rows, { kind: 'i64', value: rows });
  const after = new Map([...first.fields].filter(([id]) => id > FILE.rowGroups));
  const empty: ThriftValue = { kind: 'list', element: 12, items: [] };
  // An encoded struct whose last field is an empty list ends with the list's head and the stop byte: a new head replaces both.
  const head = encodeStruct({ kind: 'struct', fields: new Map([...before, [FILE.rowGroups, empty]]) });
  const rest = encodeAfter(after);
  return Buffer.concat([head.subarray(0, -2), encodeListHead(groups.length), ...groups, rest]);
}

/** The fields after the row groups, encoded as they follow them, with the stop byte. */
function encodeAfter(fields: ReadonlyMap<number, ThriftValue>): Buffer {
  const marked = encodeStruct({ kind: 'struct', fields: new Map([[FILE.rowGroups, { kind: 'bool', value: true }], ...fields]) });
  return marked.subarray(1);
}

/** Page offsets refer to the whole file; page indexes contain such offsets and are dropped. */
function moveGroup(group: ThriftStruct, moved: bigint): ThriftStruct {
  const columns = listOf(group, ROW_GROUP.columns);
  const items = columns.items.map((column) => moveChunk(structOf(column), moved));
  const fields = new Map(group.fields).set(ROW_GROUP.columns, { ...columns, items });
  fields.delete(ROW_GROUP.ordinal);
  shift(fields, ROW_GROUP.fileOffset, moved);
  return { kind: 'struct', fields };
}

function moveChunk(chunk: ThriftStruct, moved: bigint): ThriftStruct {
  const fields = new Map(chunk.fields);
  for (const index of [CHUNK.offsetIndexAt, CHUNK.offsetIndexBytes, CHUNK.columnIndexAt, CHUNK.columnIndexBytes]) fields.delete(index);
  shift(fields, CHUNK.fileOffset, moved);
  const meta = fields.get(CHUNK.meta);
  if (meta?.kind !== 'struct') throw new Error('joining Parquet files: a column has no metadata');
  const moving = new Map(meta.fields);
  for (const place of Object.values(META)) shift(moving, place, moved);
  fields.set(CHUNK.meta, { kind: 'struct', fields: moving });
  return { kind: 'struct', fields };
}

/** An offset of 0 means that there is none. */
function shift(fields: Map<number, ThriftValue>, id: number, moved: bigint): void {
  const place = fields.get(id);
  if (place?.kind === 'i64' && place.value > 0n) fields.set(id, { kind: 'i64', value: place.value + moved });
}

function structOf(value: ThriftValue): ThriftStruct {
  if (value.kind !== 'struct') throw new Error('joining Parquet files: a struct was expected');
  return value;
}

function listOf({ fields }: ThriftStruct, id: number): ThriftList {
  const value = fields.get(id);
  if (value === undefined) return { kind: 'list', element: 12, items: [] };
  if (value.kind !== 'list') throw new Error('joining Parquet files: a list was expected');
  return value;
}

function scalarOf({ fields }: ThriftStruct, id: number): bigint {
  const value = fields.get(id);
  return value?.kind === 'i64' ? value.value : 0n;
}
