// Yields the data of each server-sent event as it arrives. Chunks may end anywhere, even within a character.
import { createParser } from 'eventsource-parser';

/** The response exceeds `maxBytes`. */
export class TooLong extends Error {}

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
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void arrived.push(data) });
  for await (const text of texts) {
    parser.feed(text);
    yield* arrived.splice(0);
  }
}
