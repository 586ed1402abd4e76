// Encodes rows as an Arrow IPC stream: the schema, record batches, and the end-of-stream marker. Columns refer to the arrays of the rows
// without copying them. The same rows always give the same bytes.
// https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
import type { TokenRow } from '../../../streams/rows/row.ts';
import { float32, float64, flag, int32, listOf, spanList, utf8, type ArrowField } from './arrow-columns.ts';
import { flatbufferOf, long, short, byte, structs, table, tables } from './flatbuffer.ts';

/** A record batch ends with the row that reaches either limit. */
const BATCH_TOKENS = 65_536;
const BATCH_ROWS = 1_024;

const fields: { readonly [F in keyof TokenRow]: ArrowField } = {
  row: int32('row', ({ row }) => row),
  trajectory_id: utf8('trajectory_id', (row) => row.trajectory_id),
  attempt: int32('attempt', ({ attempt }) => attempt),
  group_id: utf8('group_id', (row) => row.group_id),
  branch: int32('branch', ({ branch }) => branch),
  token_ids: listOf('token_ids', 'int32', (row) => row.token_ids),
  mask: listOf('mask', 'uint8', ({ mask }) => mask),
  logprobs: listOf('logprobs', 'float32', ({ logprobs }) => logprobs),
  version_spans: spanList('version_spans', (row) => row.version_spans),
  turns: listOf('turns', 'int32', ({ turns }) => turns),
  turn_starts: listOf('turn_starts', 'int32', (row) => row.turn_starts),
  prompt_len: int32('prompt_len', (row) => row.prompt_len),
  reward: float64('reward', ({ reward }) => reward),
  advantage: float64('advantage', ({ advantage }) => advantage),
  temperature: float32('temperature', ({ temperature }) => temperature),
  logprobs_kind: utf8('logprobs_kind', (row) => row.logprobs_kind),
  trainable: flag('trainable', ({ trainable }) => trainable),
  why_not: utf8('why_not', (row) => row.why_not),
};
const columns = Object.values(fields);

const METADATA_V5 = 4;
const [SCHEMA, RECORD_BATCH] = [1, 3];
const END = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
const PADDING = Buffer.alloc(8);

/** Encodes a stream of rows incrementally. Each call returns the next bytes of the stream. */
export class ArrowRows {
  #rows: TokenRow[] = [];
  #tokens = 0;
  #isBegun = false;

  add(row: TokenRow): readonly Uint8Array[] {
    this.#rows.push(row);
    this.#tokens += row.token_ids.length;
    return this.#tokens < BATCH_TOKENS && this.#rows.length < BATCH_ROWS ? [] : this.#flush();
  }

  end(): readonly Uint8Array[] {
    return [...this.#flush(), END];
  }

  #flush(): readonly Uint8Array[] {
    const schema = this.#isBegun ? [] : [framed(schemaMessage())];
    this.#isBegun = true;
    const rows = this.#rows;
    if (rows.length === 0) return schema;
    this.#rows = [];
    this.#tokens = 0;
    return [...schema, ...recordBatch(rows)];
  }
}

const schemaMessage = (): Buffer =>
  flatbufferOf(short(METADATA_V5), byte(SCHEMA), table(undefined, tables(...columns.map(({ schema }) => schema))), long(0));

/** An encapsulated message: continuation marker, metadata length, metadata, body. */
function framed(metadata: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32LE(-1, 0);
  head.writeInt32LE(metadata.length, 4);
  return Buffer.concat([head, metadata]);
}

function recordBatch(rows: readonly TokenRow[]): readonly Uint8Array[] {
  const nodes: number[] = [];
  const places: number[] = [];
  const body: Uint8Array[] = [];
  let end = 0;
  for (const column of columns) {
    const made = column.fill(rows);
    for (const { length, nulls } of made.nodes) nodes.push(length, nulls);
    for (const pieces of made.buffers) {
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      places.push(end, bytes);
      body.push(...pieces);
      const over = bytes % 8;
      if (over > 0) body.push(PADDING.subarray(over));
      end += bytes + (over > 0 ? 8 - over : 0);
    }
  }
  const header = table(long(rows.length), structs(2, nodes), structs(2, places));
  return [framed(flatbufferOf(short(METADATA_V5), byte(RECORD_BATCH), header, long(end))), ...body];
}
