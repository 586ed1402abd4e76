// Compares codecs on the record batches of a kept run, as its producers wrote them: size, processor time, and latency per batch.
// `npm run bench compression -- --kept DIR`, with the data directory of `npm run bench long -- --keep` or of your own `turnstream up`.
// zstd is measured where Node has it (22.15 and later).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as zlib from 'node:zlib';
import { compressFrameSync, decompressFrameSync } from 'lz4-napi';
import { decompress } from '../kafka/records/compression.ts';
import { localPaths } from '../kafka/broker/local-files.ts';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
import { publish, type BenchReport } from './report.ts';
import { percentile } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    kept: { type: 'string' },
    topic: { type: 'string', default: 'rollouts' },
    mb: { type: 'string', default: '200' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = 'npm run bench compression -- --kept DIR [--topic rollouts] [--mb 200] [--out DIR] [--quick]\n';
/** Layout of a record batch: bytes before its records, offsets of its fields. The length counts from the end of the length field. */
const [HEADER, LENGTH_AT, LENGTH_END, ATTRIBUTES_AT, CODEC_MASK] = [61, 8, 12, 21, 7];

interface BatchCodec {
  readonly name: string;
  pack(plain: Buffer): Buffer;
  unpack(packed: Buffer): Buffer;
}

interface CodecResult {
  readonly name: string;
  readonly bytes: number;
  readonly packMs: readonly number[];
  readonly unpackMs: readonly number[];
}

type Zstd = Partial<Record<'zstdCompressSync' | 'zstdDecompressSync', (bytes: Buffer) => Buffer>>;

function codecs(): readonly BatchCodec[] {
  const { zstdCompressSync, zstdDecompressSync } = zlib as Zstd;
  const zstd = zstdCompressSync !== undefined && zstdDecompressSync !== undefined;
  if (!zstd) say(`Node ${process.versions.node} has no zstd`);
  return [
    { name: 'none', pack: (plain) => plain, unpack: (packed) => packed },
    { name: 'lz4', pack: compressFrameSync, unpack: decompressFrameSync },
    { name: 'gzip, level 1', pack: (plain) => zlib.gzipSync(plain, { level: 1 }), unpack: (packed) => zlib.gunzipSync(packed) },
    { name: 'gzip, level 6', pack: (plain) => zlib.gzipSync(plain), unpack: (packed) => zlib.gunzipSync(packed) },
    ...(zstd ? [{ name: 'zstd, level 3', pack: zstdCompressSync, unpack: zstdDecompressSync }] : []),
  ];
}

/** The records of each batch, uncompressed, up to `limit` bytes. */
async function batchesOf(dir: string, limit: number): Promise<readonly Buffer[]> {
  const { data } = localPaths(dir);
  const partition = new RegExp(`\\.${flags.topic}-\\d+$`);
  const folders = readdirSync(data).filter((name) => partition.test(name));
  const found: Buffer[] = [];
  let bytes = 0;
  for (const folder of folders) {
    let ofFolder = 0;
    for (const file of readdirSync(join(data, folder)).filter((name) => name.endsWith('.log'))) {
      for (const batch of batchesIn(readFileSync(join(data, folder, file)))) {
        if (ofFolder >= limit / folders.length) break;
        const plain = await decompress(batch.codec, batch.body);
        ofFolder += plain.length;
        found.push(plain);
      }
    }
    bytes += ofFolder;
  }
  if (bytes === 0) throw new Error(`${data} has no records of ${flags.topic}`);
  return found;
}

function* batchesIn(segment: Buffer): Generator<{ readonly codec: number; readonly body: Buffer }> {
  for (let at = 0; at + HEADER <= segment.length;) {
    const end = at + LENGTH_END + segment.readInt32BE(at + LENGTH_AT);
    if (end > segment.length || end < at + HEADER) return;
    yield { codec: segment.readInt16BE(at + ATTRIBUTES_AT) & CODEC_MASK, body: segment.subarray(at + HEADER, end) };
    at = end;
  }
}

function measure(codec: BatchCodec, batches: readonly Buffer[]): CodecResult {
  const [packMs, unpackMs]: [number[], number[]] = [[], []];
  let bytes = 0;
  for (const plain of batches) {
    const began = performance.now();
    const packed = codec.pack(plain);
    const packedAt = performance.now();
    const unpacked = codec.unpack(packed);
    unpackMs.push(performance.now() - packedAt);
    packMs.push(packedAt - began);
    if (!unpacked.equals(plain)) throw new Error(`${codec.name} does not restore its input`);
    bytes += packed.length;
  }
  return { name: codec.name, bytes, packMs, unpackMs };
}

function reportOf(batches: readonly Buffer[], found: readonly CodecResult[]): BenchReport {
  const plain = batches.reduce((total, { length }) => total + length, 0);
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
  const rate = (ms: readonly number[]): string => {
    const total = ms.reduce((one, other) => one + other, 0);
    return total < 1 ? '' : (plain / 1e3 / total).toFixed(0);
  };
  const us = (ms: readonly number[], share: number): string => (percentile(ms, share) * 1_000).toFixed(0);
  return {
    name: 'compression',
    title: 'Compression of the log',
    method:
      `${batches.length} record batches of \`${flags.topic}\` of a real run, as its producers formed them (${mb(plain)} MB, ${Math.round(plain / batches.length)} bytes each on average), compressed and restored one by one on one thread.` +
      ' Long texts that recur are in the topic `texts` and not in these batches.',
    quick: flags.quick,
    environment: describeEnvironment(),
    parameters: { topic: flags.topic, batches: batches.length, bytes: plain },
    table: {
      columns: [
        'codec',
        'MB',
        'of none',
        'compress, MB/s',
        'decompress, MB/s',
        'compress p50, µs',
        'p99, µs',
        'decompress p50, µs',
        'p99, µs',
      ],
      rows: found.map(({ name, bytes, packMs, unpackMs }) => [
        ...[name, mb(bytes), `${((100 * bytes) / plain).toFixed(0)} %`, rate(packMs), rate(unpackMs)],
        ...[us(packMs, 0.5), us(packMs, 0.99), us(unpackMs, 0.5), us(unpackMs, 0.99)],
      ]),
    },
    targets: [],
    figures: found.map(({ name, bytes }) => ({ name, bytes })),
  };
}

if (flags.help || flags.kept === undefined) {
  process.stdout.write(HELP);
  process.exitCode = flags.help ? 0 : 2;
} else {
  const batches = await batchesOf(flags.kept, (flags.quick ? 5 : Number(flags.mb)) * 1e6);
  await publish(
    reportOf(
      batches,
      codecs().map((codec) => measure(codec, batches)),
    ),
    flags.out,
  );
}
