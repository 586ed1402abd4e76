import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRow } from '../../../infra/testing/recorded-calls.ts';
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import type { BatchRows } from '../../../streams/leases/batch-rows.ts';
import type { RowsAnswer, RowsRequest } from '../../../streams/leases/coordinator.ts';
import type { TokenRow } from '../../../streams/rows/row.ts';
import { answerRows } from './rows-answer.ts';

const ARROW = 'application/vnd.apache.arrow.stream';
const SHA = 'a'.repeat(64);
const rows: readonly TokenRow[] = fc.sample(anyRow, { numRuns: 30, seed: 5 }).map((row, number) => ({ ...row, row: number }));
const lease = { batch_id: 'run-a/step/1.0', batch_sha256: SHA, rows: rows.length } as BatchLeased;
const given = (sha256 = SHA): BatchRows => ({
  measure: async () => ({ rows: rows.length, tokens: 0, bytes: 0, sha256, untrainable: [], gone: [] }),
  async *rows() {
    yield* rows;
  },
  forget: () => undefined,
});

const ask = (request: RowsRequest): Promise<RowsAnswer> => answerRows(lease, given(), request);
async function bytes(request: RowsRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of (await ask(request)).body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}
const lines = async (request: RowsRequest): Promise<readonly { row: number }[]> =>
  (await bytes(request))
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { row: number });

describe('the response with rows', () => {
  it.each([
    [undefined, 'application/x-ndjson'],
    ['*/*', 'application/x-ndjson'],
    [ARROW, ARROW],
    [`application/x-ndjson;q=0.5, ${ARROW}`, ARROW],
    [`${ARROW};q=0.1, application/x-ndjson`, 'application/x-ndjson'],
    ['text/html', 'application/x-ndjson'],
  ])('to Accept: %s is %s', async (accept, type) => {
    const { status, headers } = await ask(accept === undefined ? {} : { accept });
    expect([status, headers['content-type'], headers['vary']]).toEqual([200, type, 'accept']);
  });

  it('is 304 for a client that has them in the same format', async () => {
    const { headers } = await ask({ accept: ARROW });
    expect(headers['etag']).toContain(SHA);
    expect(await ask({ accept: ARROW, ifNoneMatch: `"x", W/${headers['etag'] ?? ''}` })).toMatchObject({ status: 304, body: undefined });
    expect((await ask({ ifNoneMatch: headers['etag'] ?? '' })).status).toBe(200);
    expect((await ask({ ifNoneMatch: '*' })).status).toBe(304);
  });

  it('can be any range of the same bytes', async () => {
    for (const accept of [ARROW, 'application/x-ndjson']) {
      const whole = await bytes({ accept });
      await fc.assert(
        fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(whole.length * 2), async (first, length) => {
          const last = first + length;
          const { status, headers } = await ask({ accept, range: `bytes=${first}-${last}` });
          const end = Math.min(last + 1, whole.length);
          expect([status, headers['content-range']]).toEqual([206, `bytes ${first}-${end - 1}/${whole.length}`]);
          expect(headers['content-length']).toBe(String(end - first));
          expect((await bytes({ accept, range: `bytes=${first}-${last}` })).equals(whole.subarray(first, end))).toBe(true);
        }),
        { numRuns: 15 },
      );
      expect((await bytes({ accept, range: 'bytes=7-' })).equals(whole.subarray(7))).toBe(true);
      expect((await bytes({ accept, range: 'bytes=-9' })).equals(whole.subarray(-9))).toBe(true);
      for (const ignored of ['bytes=9-7', 'bytes=0-1,3-4', 'rows=0-1'])
        expect((await bytes({ accept, range: ignored })).equals(whole)).toBe(true);
      expect((await ask({ accept, range: 'bytes=0-1', ifRange: '"other"' })).status).toBe(200);
      await expect(ask({ accept, range: `bytes=${whole.length}-` })).rejects.toMatchObject({ code: 'RANGE_UNSATISFIABLE' });
    }
  });

  it('can be split into shards that contain each row once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (of) => {
        const parts = await Promise.all(Array.from({ length: of }, (_, part) => lines({ shard: `${part}/${of}` })));
        expect(parts.flat().map(({ row }) => row)).toEqual(rows.map(({ row }) => row));
      }),
      { numRuns: 20 },
    );
    await expect(ask({ shard: '3/3' })).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
  });

  it('is an error once the log yields rows that differ from those of the lease', async () => {
    await expect(answerRows(lease, given('b'.repeat(64)), {})).rejects.toMatchObject({ code: 'ROWS_GONE' });
  });
});
