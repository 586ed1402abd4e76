// A result that ClickHouse could not finish ends with an exception block. This code holds the last bytes back, so that a reader gets the
// bytes of the result and then an error, never the block as data.
import { ClickHouseError } from '@clickhouse/client';
import { messageOf } from '../../streams/core/errors.ts';
import { failureOf } from './clickhouse-error.ts';

/** ClickHouse limits the block to 16 KiB. */
const HELD_BYTES = 32 * 1024;

/** Passes bytes through; throws ClickHouse's error when the stream ends with one, else the error that broke the stream. */
export async function* withoutException(stream: AsyncIterable<Buffer>, tag: string | undefined): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  const end: { broken?: unknown } = {};
  const parts = stream[Symbol.asyncIterator]();
  try {
    for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
      held.push(next.value);
      size += next.value.length;
      while (tag === undefined || size - (held[0]?.length ?? 0) >= HELD_BYTES) {
        const first = held.shift();
        if (first === undefined) break;
        size -= first.length;
        yield first;
      }
    }
  } catch (error) {
    end.broken = error;
  } finally {
    await parts.return?.();
  }
  const last = Buffer.concat(held);
  held = [];
  yield* finish(last, tag, end.broken);
}

function* finish(last: Buffer, tag: string | undefined, broken: unknown): Generator<Buffer> {
  const at = tag === undefined ? -1 : last.indexOf(`\r\n__exception__\r\n${tag}\r\n`);
  const data = at < 0 ? last : last.subarray(0, at);
  if (data.length > 0) yield data;
  if (at >= 0 && tag !== undefined) throw told(last.subarray(at).toString('utf8'), tag);
  if (broken !== undefined) throw broken instanceof Error ? broken : new Error(messageOf(broken));
}

function told(block: string, tag: string): ClickHouseError {
  const text = block.split(`${tag}\r\n`)[1] ?? '';
  const { code, codeName, message } = failureOf(new Error(text.replace(/\n\d+ $/, '')));
  return new ClickHouseError({ code: String(code), type: codeName, message });
}
