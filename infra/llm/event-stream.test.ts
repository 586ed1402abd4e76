import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventData, textOf } from './event-stream.ts';

async function* cutInto(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const size of sizes) {
    yield bytes.subarray(from, from + size);
    from += size;
  }
  yield bytes.subarray(from);
}

async function eventsIn(text: string, sizes: readonly number[] = [], maxBytes = 1_000): Promise<string[]> {
  const found: string[] = [];
  for await (const data of eventData(textOf(cutInto(Buffer.from(text), sizes), maxBytes))) found.push(data);
  return found;
}

describe('an event stream', () => {
  it.each([
    ['one event', 'data: a\n\n', ['a']],
    ['no space after the colon', 'data:a\n\n', ['a']],
    ['several lines are one event', 'data: a\ndata: b\n\n', ['a\nb']],
    ['other fields and comments', ': hello\nevent: x\nid: 1\ndata: a\n\n: bye\n\n', ['a']],
    ['all kinds of line ends', 'data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    ['an event without an end is none', 'data: a\n\ndata: b\n', ['a']],
    ['nothing', '', []],
  ])('%s', async (_name, text, wanted) => {
    expect(await eventsIn(text)).toEqual(wanted);
  });
  it('is the same wherever its bytes are cut', async () => {
    const text = ': c\r\ndata: {"x": "müde 😀"}\r\n\r\ndata: two\ndata: lines\n\ndata: [DONE]\n\n';
    const whole = await eventsIn(text);
    expect(whole).toHaveLength(3);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }), async (sizes) => {
        expect(await eventsIn(text, sizes)).toEqual(whole);
      }),
    );
  });
  it('is limited in size', async () => {
    await expect(eventsIn(`data: ${'x'.repeat(2_000)}\n\n`)).rejects.toThrow('more than 1000 bytes');
  });
});
