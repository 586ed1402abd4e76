// Encodes rows as the body of a response, in chunks large enough for one write each.
import type { TokenRow } from '../../../streams/rows/row.ts';
import { ArrowRows } from './arrow.ts';
import { ndjsonOf } from './ndjson.ts';

export const rowFormats = ['arrow', 'ndjson'] as const;
export type RowFormat = (typeof rowFormats)[number];

export const mediaTypes: Readonly<Record<RowFormat, string>> = {
  arrow: 'application/vnd.apache.arrow.stream',
  ndjson: 'application/x-ndjson',
};

type RowStream = AsyncIterable<TokenRow>;

/** Minimum size of every chunk but the last. */
const WRITE_BYTES = 256 * 1024;

export async function* encodeRows(rows: RowStream, format: RowFormat): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const pieces of format === 'arrow' ? arrowPieces(rows) : linePieces(rows)) {
    for (const piece of pieces) {
      waiting.push(piece);
      bytes += piece.length;
    }
    if (bytes < WRITE_BYTES) continue;
    yield Buffer.concat(waiting, bytes);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}

async function* arrowPieces(rows: RowStream): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  const stream = new ArrowRows();
  for await (const row of rows) yield stream.add(row);
  yield stream.end();
}

async function* linePieces(rows: RowStream): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  for await (const row of rows) yield [ndjsonOf(row)];
}
