// A list of texts that was written as one text, as tables have it.

const TEXT = String.raw`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`;
/** `['a', "b's"]` of Python, and `['a' 'b']` of numpy. */
const PYTHON_LIST = new RegExp(String.raw`^\[\s*(?:${TEXT})(?:(?:\s*,\s*|\s+)(?:${TEXT}))*\s*,?\s*\]$`, 's');
const PYTHON_TEXTS = new RegExp(TEXT, 'gs');

/** The texts of a list as JSON or as Python writes it; any other text is itself. Empty ones are left out. */
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
