// Parses server-sent events and yields the data of each event as it arrives. Chunks may end anywhere, even within a character.

/** The response exceeds `maxBytes`. */
export class TooLong extends Error {}

const LINE_END = /\r\n|\r|\n/;

/** The text of a body in chunks; throws TooLong. */
export async function* textOf(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TooLong(`the answer has more than ${maxBytes} bytes`);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/** The data of each event, with its lines joined; an incomplete event at the end is dropped. */
export async function* eventData(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  let data: string[] = [];
  for await (const text of texts) {
    rest += text;
    // a line end that may be the first half of \r\n waits for the next chunk
    const held = rest.endsWith('\r') ? '\r' : '';
    const lines = rest.slice(0, rest.length - held.length).split(LINE_END);
    rest = (lines.pop() ?? '') + held;
    for (const line of lines) {
      if (line === '' && data.length > 0) {
        yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      }
    }
  }
}
