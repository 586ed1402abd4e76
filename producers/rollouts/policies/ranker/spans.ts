// Pieces of a field that could be an answer, and how each was cut out. The same text can result from several cuts.

export const cuts = ['whole', 'fragment', 'quoted', 'date', 'unmeasured', 'before_parenthesis', 'slash_first', 'slash_second'] as const;
type SpanCut = (typeof cuts)[number];

export interface TextSpan {
  readonly text: string;
  readonly cuts: ReadonlySet<SpanCut>;
}

const MAX_CHARS = 120;
const date = /\b\d{1,2} \p{Lu}\p{L}+(?: \d{3,4}\b)?/u;
const measured = /^(\D+?) -?\d[\d,.]*(?: \p{L}+)?$/u;

const slashed = (text: string, at: 0 | 1): string | undefined => {
  const parts = text.split('/');
  return parts.length === 2 ? parts[at]?.trim() : undefined;
};

/** How each cut is made from a text, and from the text without its parentheses. */
const cutters: Readonly<Record<SpanCut, (text: string, bare: string) => string | undefined>> = {
  whole: (text) => text,
  fragment: (_text, bare) => bare.split(/;|,(?!\d{3})/)[0]?.trim(),
  quoted: (text) => /"([^"]+)"/.exec(text)?.[1],
  date: (_text, bare) => date.exec(bare)?.[0],
  unmeasured: (_text, bare) => measured.exec(bare)?.[1],
  before_parenthesis: (text) => (text.includes(' (') ? text.slice(0, text.indexOf(' (')) : undefined),
  slash_first: (_text, bare) => slashed(bare, 0),
  slash_second: (_text, bare) => slashed(bare, 1),
};

/** The distinct spans of a field text, at most one per cut. */
export function spansOf(text: string): readonly TextSpan[] {
  const found = new Map<string, Set<SpanCut>>();
  const bare = text.replace(/\s*\([^()]*\)/g, '').trim();
  for (const cut of cuts) {
    const piece = cutters[cut](text, bare);
    if (piece === undefined || piece === '' || piece.length > MAX_CHARS) continue;
    const known = found.get(piece);
    if (known === undefined) found.set(piece, new Set([cut]));
    else known.add(cut);
  }
  return [...found].map(([span, by]) => ({ text: span, cuts: by }));
}
