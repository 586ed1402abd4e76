import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { describe, expect, it } from 'vitest';
import { ask, freshTable, store } from './store.testing.ts';

/** A zstd frame with uncompressed content: enough to test a decoder, without an encoder. */
function zstdStored(data: Buffer): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  head.writeUInt32LE(data.length, 5);
  const block = Buffer.alloc(3);
  block.writeUIntLE((data.length << 3) | 1, 0, 3);
  return Buffer.concat([head, block, data]);
}

describe('inserts', () => {
  const rows = '{"a":1,"b":"x\\ny"}\n{"a":2,"b":"é日"}\n';

  it.each([
    ['gzip', (data: Buffer) => gzipSync(data)],
    ['deflate', (data: Buffer) => deflateSync(data)],
    ['br', (data: Buffer) => brotliCompressSync(data)],
    ['lz4', (data: Buffer) => compressFrameSync(data)],
    ['zstd', zstdStored],
  ])('takes rows and queries compressed with %s', async (encoding, compress) => {
    const table = await freshTable('a UInt8, b String');
    const headers = { 'Content-Encoding': encoding };
    const inserted = await ask(`insert into ${table} (a, b) format JSONEachRow`, {
      headers,
      body: new Uint8Array(compress(Buffer.from(rows))),
    });
    expect(inserted.text).toBe('');
    const withText = Buffer.from(`insert into ${table} format JSONEachRow\n${rows}`);
    expect((await ask(undefined, { headers, body: new Uint8Array(compress(withText)) })).text).toBe('');
    const query = compress(Buffer.from(`select a, b, count() from ${table} group by all order by a`));
    expect((await ask(undefined, { headers, body: new Uint8Array(query) })).text).toBe('1\tx\\ny\t2\n2\té日\t2\n');
    const broken = await ask(`insert into ${table} format JSONEachRow`, { headers, body: 'not compressed at all' });
    expect(broken.status).toBeGreaterThanOrEqual(400);
    const brokenText = await ask(undefined, { headers, body: 'not compressed at all' });
    expect(brokenText.headers.get('x-clickhouse-exception-code')).toBe('271');
  });

  it('rejects other encodings', async () => {
    const table = await freshTable('a UInt8');
    expect((await ask(`insert into ${table} format CSV`, { headers: { 'Content-Encoding': 'rot13' }, body: '1\n' })).status).toBe(415);
  });

  it.each([
    'JSONEachRow',
    'JSONCompactEachRow',
    'TabSeparated',
    'CSV',
    'Values',
    'RowBinary',
    'RowBinaryWithNames',
    'Native',
    'Parquet',
    'ArrowStream',
    'Arrow',
  ])('returns %s as it was inserted, once for each token', async (format) => {
    const table = await freshTable(
      'a UInt32, b String, c Array(String), d Nullable(Float64)',
      'settings non_replicated_deduplication_window = 100',
    );
    const source =
      "select toUInt32(number) as a, concat('text \\'\\n\\\\ é', toString(number)) as b, [b] as c, if(a % 2 = 0, null, a / 3) as d from numbers(3000)";
    const data = new Uint8Array((await ask(`${source} format ${format}`, { url: { output_format_arrow_string_as_string: '1' } })).bytes);
    for (const token of ['one', 'one', 'two']) {
      const answer = await ask(`insert into ${table} format ${format}`, { url: { insert_deduplication_token: token }, body: data });
      expect(answer.text).toBe('');
    }
    const sum = 'count(), sum(a), sum(cityHash64(a, b, c, d))';
    const [[n, a, hash]] = [(await ask(`select ${sum} from ${table}`)).text.trim().split('\t')] as [string[]];
    const [[, ofA, ofHash]] = [(await ask(`select ${sum} from (${source})`)).text.trim().split('\t')] as [string[]];
    expect([n, a]).toEqual(['6000', String(2 * Number(ofA))]);
    expect(BigInt.asUintN(64, 2n * BigInt(ofHash!)).toString()).toBe(hash);
  });

  it('finds rows that follow the statement in the same text', async () => {
    const table = await freshTable('a UInt8, b String');
    for (const body of [
      `insert into ${table} (a, b) values (1, 'x;y'), (2, 'it''s')`,
      `insert into ${table} format JSONEachRow {"a":3,"b":"; drop table x"}`,
      `INSERT INTO ${table} SETTINGS max_threads = 1 FORMAT CSV\n4,"a;b"\n`,
      `insert into ${table} select 5, ';' -- done`,
    ]) {
      expect((await ask(undefined, { body })).text).toBe('');
    }
    expect((await ask(`insert into ${table} values`, { body: "(6, 'six')" })).text).toBe('');
    expect((await ask(`select groupArray(a) from (select a from ${table} order by a)`)).text).toBe('[1,2,3,4,5,6]\n');
  });

  it('leaves no file behind, whatever happened', async () => {
    const table = await freshTable('a UInt8');
    await ask(`insert into ${table} format CSV`, { body: 'not a number\n' });
    await ask('insert into no_such_table format CSV', { body: '1\n' });
    expect(await readdir(join(store.dataDir, 'store', 'incoming'))).toEqual([]);
  });

  it('reports a full disk as ClickHouse does', async () => {
    const table = await freshTable('a UInt8');
    const full = await ask(`insert into ${table} format CSV`, {
      url: { min_free_disk_bytes_to_perform_insert: '1000000000000000' },
      body: '1\n',
    });
    expect(full.headers.get('x-clickhouse-exception-code')).toBe('243');
  });
});
