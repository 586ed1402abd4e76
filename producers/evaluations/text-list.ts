// Parses a list of texts that is stored as a single text, as in cells of a CSV file.

const TEXT = String.raw`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`;
/** Python's `['a', "b's"]` and numpy's `['a' 'b']`. */
const PYTHON_LIST = new RegExp(String.raw`^\[\s*(?:${TEXT})(?:(?:\s*,\s*|\s+)(?:${TEXT}))*\s*,?\s*\]$`, 's');
const PYTHON_TEXTS = new RegExp(TEXT, 'gs');

/** The nonempty texts of a list in JSON or Python notation; any other text is a list of one. */
export function textsIn(text: string): readonly string[] {
  const trimmed = text.trim();
  const listed = jsonList(trimmed) ?? (PYTHON_LIST.test(trimmed) ? trimmed.match(PYTHON_TEXTS)?.map(unquoted) : undefined) ?? [trimmed];
  return listed.map((one) => one.trim()).filter((one) => one !== '');
}

function jsonList(text: string): readonly string[] | undefined {
  if (!text.startsWith('["')) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

const unquoted = (text: string): string =>
  text
    .slice(1, -1)
    .replace(/\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)/gs, (_, code: string) =>
      code.length > 1 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (ESCAPED[code] ?? code),
    );
