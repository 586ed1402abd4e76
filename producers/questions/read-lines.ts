// Splits a stream of bytes or texts into lines. A line that is too long or not UTF-8 is reported as a problem; reading continues.

type LineText = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly problem: string };

export interface NumberedLine {
  /** 1-based. */
  readonly line: number;
  readonly text: LineText;
}

/** Maximum line length, bytes. */
export const MAX_LINE_BYTES = 1_000_000;
const NEWLINE = 10;

/** Collects the bytes of one line, up to the limit. */
function createLine(): { add(bytes: Uint8Array): void; take(): LineText; readonly isEmpty: () => boolean } {
  let parts: Uint8Array[] = [];
  let size = 0;
  return {
    add(bytes) {
      size += bytes.length;
      if (size <= MAX_LINE_BYTES) parts.push(bytes);
    },
    isEmpty: () => size === 0,
    take() {
      const text = decode(parts, size);
      parts = [];
      size = 0;
      return text;
    },
  };
}

function decode(parts: readonly Uint8Array[], size: number): LineText {
  if (size > MAX_LINE_BYTES) return { ok: false, problem: `longer than ${MAX_LINE_BYTES} bytes` };
  try {
    return { ok: true, value: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts)).replace(/\r$/, '') };
  } catch {
    return { ok: false, problem: 'not valid UTF-8' };
  }
}

/** Splits at line feeds; drops a byte order mark and carriage returns. */
export async function* readLines(input: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>): AsyncGenerator<NumberedLine> {
  const current = createLine();
  let line = 1;
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      current.add(bytes.subarray(from, end));
      yield { line, text: current.take() };
      line += 1;
      from = end + 1;
    }
    current.add(bytes.subarray(from));
  }
  if (!current.isEmpty()) yield { line, text: current.take() };
}
