// Replaces the decoder of fetched records by records/record-batches.ts.
//
// Reason: kafkajs spends four fifths of the time of a read on record headers, supports only gzip, and stops forever at a batch that it
// cannot decompress.
// Upstream: https://github.com/tulios/kafkajs/issues/254 and https://github.com/tulios/kafkajs/issues/750 (a missing codec stops the
// consumer). The cost of headers is not reported.
import { decodeRecordBatches, type FetchedRecord } from '../records/record-batches.ts';
import type { Patch } from './patch.ts';

/** What kafkajs passes to the decoder: a position in a response. */
interface ResponseDecoder {
  readInt32(): number;
  canReadBytes(length: number): boolean;
  readBytes(length: number): Buffer;
}

const MAGIC_AT = 16;
const MAGIC = 2;

async function decodeMessages(decoder: ResponseDecoder): Promise<FetchedRecord[]> {
  const size = decoder.readInt32();
  if (size <= 0 || !decoder.canReadBytes(size)) return [];
  const bytes = decoder.readBytes(size);
  if (bytes.length > MAGIC_AT && bytes[MAGIC_AT] !== MAGIC)
    throw new RangeError(`message format ${bytes[MAGIC_AT] ?? 0} is older than Kafka 0.11`);
  return decodeRecordBatches(bytes);
}

export const fetchDecoderPatch: Patch = { module: 'protocol/requests/fetch/v4/decodeMessages.js', replace: () => decodeMessages };
