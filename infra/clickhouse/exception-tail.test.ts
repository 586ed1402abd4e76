import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutException } from './exception-tail.ts';

const tag = '0123456789abcdef';
const text = 'Code: 395. DB::Exception: boom. (FUNCTION_THROW) (version 1)\n';
const block = `\r\n__exception__\r\n${tag}\r\n${text}${text.length} ${tag}\r\n__exception__\r\n`;

async function* cut(bytes: Buffer, sizes: readonly number[], error?: Error): AsyncGenerator<Buffer> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
  if (error !== undefined) throw error;
}

async function read(source: AsyncIterable<Buffer>, of: string | undefined): Promise<{ data: string; error?: unknown }> {
  const parts: Buffer[] = [];
  try {
    for await (const part of withoutException(source, of)) parts.push(part);
  } catch (error) {
    return { data: Buffer.concat(parts).toString(), error };
  }
  return { data: Buffer.concat(parts).toString() };
}

describe('a result that ends with an exception', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 50_000 }), { minLength: 1, maxLength: 5 });
  const data = fc.integer({ min: 0, max: 100_000 }).map((length) => 'row\n'.repeat(length / 4));

  it('gives its rows, then the error, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(data, sizes, fc.boolean(), async (rows, cuts, broken) => {
        const fast = cuts.map((size) => size + 500);
        const got = await read(cut(Buffer.from(rows + block), fast, broken ? new Error('reset') : undefined), tag);
        expect(got.data).toBe(rows);
        expect(got.error).toMatchObject({ code: '395', type: 'FUNCTION_THROW', message: 'boom.' });
      }),
      { numRuns: 50 },
    );
  });

  it('gives its rows when it ends normally, and the error of the stream when no exception explains it', async () => {
    await fc.assert(
      fc.asyncProperty(data, async (rows) => {
        expect(await read(cut(Buffer.from(rows), [1000]), tag)).toEqual({ data: rows });
        expect(await read(cut(Buffer.from(rows), [1000]), undefined)).toEqual({ data: rows });
        const reset = new Error('reset');
        expect(await read(cut(Buffer.from(rows), [1000], reset), tag)).toEqual({ data: rows, error: reset });
      }),
      { numRuns: 20 },
    );
  });
});
