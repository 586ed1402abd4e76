// Texts into bytes, the way that is fastest for each.

/** Bytes of UTF-8 that a character of a text may take. */
export const WIDEST = 3;
/** Up to this length a loop is faster than a call out of JavaScript. */
const SHORT = 24;

/** Writes a text into a page that has room for it, `WIDEST` bytes a character. Answers where it ends. */
export function putText(page: Buffer, text: string, start: number): number {
  if (text.length > SHORT) return start + page.write(text, start);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return start + page.write(text, start);
    page[start + at] = code;
  }
  return start + text.length;
}
