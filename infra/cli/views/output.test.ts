import { expect, it } from 'vitest';
import { outputTo } from './output.ts';

const HOSTILE = 'a\u001b]0;owned\u0007\u009b2J\n';

function fakeStream(isTTY: boolean | undefined) {
  const written: (string | Buffer)[] = [];
  const drained: (() => void)[] = [];
  const accepts = { more: true };
  return {
    ...{ written, drained, accepts },
    ...(isTTY === undefined ? {} : { isTTY }),
    write: (data: string | Buffer) => {
      written.push(data);
      return accepts.more;
    },
    once: (_event: 'drain', listener: () => void) => drained.push(listener),
  };
}

it('shows control sequences as dots on a terminal', async () => {
  const stream = fakeStream(true);
  const output = outputTo(stream);
  output.text(HOSTILE);
  await output.bytes(Buffer.from(HOSTILE));
  expect(stream.written).toEqual(['a·]0;owned··2J\n', 'a·]0;owned··2J\n']);
});

it.each([false, undefined])('changes nothing in a file or pipe (isTTY: %s)', async (isTTY) => {
  const stream = fakeStream(isTTY);
  const output = outputTo(stream);
  output.text(HOSTILE);
  const bytes = Buffer.from([0xff, 0x1b, 0x9b]);
  await output.bytes(bytes);
  expect(stream.written).toEqual([HOSTILE, bytes]);
});

it('waits until a full stream accepts more', async () => {
  const stream = fakeStream(true);
  stream.accepts.more = false;
  let done = false;
  const wait = outputTo(stream)
    .bytes(Buffer.from('a'))
    .then(() => (done = true));
  await Promise.resolve();
  expect(done).toBe(false);
  stream.drained[0]?.();
  await wait;
});
