// Encodes texts as UTF-8 with the fastest method for each length.

/** Maximum number of UTF-8 bytes for one UTF-16 code unit. */
export const WIDEST = 3;
/** Up to this length, a loop is faster than a native call. */
const SHORT = 24;

/** Writes a text into a buffer that has room for it, `WIDEST` bytes per code unit. Returns the end position. */
export function putText(page: Buffer, text: string, start: number): number {
  if (text.length > SHORT) return start + page.write(text, start);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return start + page.write(text, start);
    page[start + at] = code;
  }
  return start + text.length;
}
