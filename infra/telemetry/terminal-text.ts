// Text of agents, models, and web pages may hold control sequences, which move the cursor, retitle the window, or hide what follows. On a
// terminal, each such character is shown as a dot. The styles that ClickHouse uses in tables are kept.
import { StringDecoder } from 'node:string_decoder';

/** DEL, the control characters after it, and characters that reorder or break a line: JSON does not escape them. */
const BEYOND_ASCII = '\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';
/** The above, all other control characters except tab and line feed, and escape characters that do not begin a kept style. */
const HOSTILE = new RegExp(`\\u001b(?!\\[(?:0|1|4|22|24|31|31;1|90)m)|[\\u0000-\\u0008\\u000b-\\u001a\\u001c-\\u001f${BEYOND_ASCII}]`, 'g');
const NOT_IN_JSON = new RegExp(`[${BEYOND_ASCII}]`, 'g');

/** The beginning of a style, at the end of a chunk. */
const PARTIAL = /\u001b(?:\[[\d;]{0,4})?$/;

export const terminalText = (text: string): string => text.replaceAll(HOSTILE, '\u00b7');

/** Converts the chunks of a stream; a character or style that continues in the next chunk is returned with it. */
export function terminalChunks(): (bytes: Buffer) => string {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (bytes) => {
    const text = rest + decoder.write(bytes);
    const end = PARTIAL.exec(text)?.index ?? text.length;
    rest = text.slice(end);
    return terminalText(text.slice(0, end));
  };
}

/** A line of JSON with these characters escaped: it has the same value. */
export const terminalJson = (line: string): string =>
  line.replaceAll(NOT_IN_JSON, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
