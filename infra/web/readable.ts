// Converts HTML to readable Markdown without scripts, menus and hidden parts. Any page gives a text within the limits, in time linear in
// its length: tags are processed as a stream, no tree is built.
import { Parser } from 'htmlparser2';

export interface Readable {
  readonly title: string;
  readonly markdown: string;
}

const SKIPPED = new Set([
  ...['script', 'style', 'noscript', 'template', 'svg', 'canvas', 'iframe', 'object', 'embed', 'video', 'audio', 'map', 'dialog'],
  ...['nav', 'footer', 'aside', 'form', 'button', 'select', 'textarea', 'input', 'head'],
]);
const BLOCKS = new Set([
  ...['p', 'div', 'section', 'article', 'main', 'header', 'ul', 'ol', 'dl', 'dt', 'dd', 'table', 'tr', 'blockquote', 'figure'],
  ...['figcaption', 'pre', 'address', 'hr', 'br', 'li', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'body'],
]);
const VOID = new Set(['br', 'hr', 'img', 'input', 'meta', 'link', 'embed', 'source', 'wbr', 'area', 'base', 'col', 'track']);
const MAX_CHARS = 1_000_000;
const MAX_LINK_CHARS = 2_000;
/** The parser takes time quadratic in the depth. */
const MAX_DEPTH = 10_000;
const CHUNK_CHARS = 16_384;

const hidden = (attributes: Readonly<Record<string, string>>): boolean =>
  'hidden' in attributes ||
  attributes['aria-hidden'] === 'true' ||
  /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attributes['style'] ?? '');

function resolved(href: string, base: string): string | undefined {
  if (href.length > MAX_LINK_CHARS) return undefined;
  try {
    const url = new URL(href, base);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href.replaceAll('(', '%28').replaceAll(')', '%29') : undefined;
  } catch {
    return undefined;
  }
}

/** Collects text; collapses white space, and drops everything beyond the limit. */
class TextCollector {
  readonly #parts: string[] = [];
  #chars = 0;
  #blank = true;

  text(text: string, verbatim = false): void {
    const plain = verbatim ? text : text.replace(/\s+/g, ' ');
    const said = this.#blank && !verbatim ? plain.trimStart() : plain;
    if (said === '') return;
    this.#push(said);
    this.#blank = said.endsWith(' ');
  }

  /** Begins a new paragraph with `before`. */
  line(before: string): void {
    if (this.#parts.length > 0) this.#push('\n\n');
    this.#blank = true;
    if (before !== '') this.#push(before);
  }

  get full(): boolean {
    return this.#chars >= MAX_CHARS;
  }

  #push(text: string): void {
    if (this.full) return;
    this.#parts.push(text);
    this.#chars += text.length;
  }

  toString(): string {
    return this.#parts
      .join('')
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .replace(/\n\n(?=- )/g, '\n')
      .trim();
  }
}

class HtmlReader {
  readonly all = new TextCollector();
  readonly main = new TextCollector();
  title = '';
  /** Number of open elements. */
  depth = 0;
  readonly #base: string;
  /** Depth within elements that are skipped. */
  #skipDepth = 0;
  #mainDepth = 0;
  #preDepth = 0;
  #inTitle = false;
  #link: { readonly href: string; text: string } | undefined;

  constructor(base: string) {
    this.#base = base;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'title' && this.title === '') this.#inTitle = true;
    if (VOID.has(name)) {
      if (this.#skipDepth === 0 && BLOCKS.has(name)) this.#block(name);
      return;
    }
    this.depth += 1;
    if (this.#skipDepth > 0 || SKIPPED.has(name) || hidden(attributes)) {
      this.#skipDepth += 1;
      return;
    }
    this.#enter(name, attributes['href']);
  }

  #enter(name: string, href: string | undefined): void {
    if (name === 'main' || name === 'article') this.#mainDepth += 1;
    if (name === 'pre') this.#preDepth += 1;
    if (BLOCKS.has(name)) this.#block(name);
    if (name === 'td' || name === 'th') this.#say(' | ');
    if (name !== 'a') return;
    const to = href === undefined ? undefined : resolved(href, this.#base);
    this.#link = to === undefined ? undefined : { href: to, text: '' };
  }

  close(name: string): void {
    if (name === 'title') this.#inTitle = false;
    if (VOID.has(name)) return;
    this.depth -= 1;
    if (this.#skipDepth > 0) {
      this.#skipDepth -= 1;
      return;
    }
    if (name === 'a') this.#endLink();
    if (BLOCKS.has(name)) this.#block('');
    if (name === 'pre') this.#preDepth = Math.max(0, this.#preDepth - 1);
    if (name === 'main' || name === 'article') this.#mainDepth = Math.max(0, this.#mainDepth - 1);
  }

  text(text: string): void {
    if (this.#inTitle) this.title += text;
    if (this.#skipDepth > 0) return;
    if (this.#link !== undefined) this.#link.text += text;
    else this.#say(text);
  }

  end(): void {
    this.#endLink();
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const text = link.text.replace(/\s+/g, ' ').trim().replaceAll('[', '(').replaceAll(']', ')');
    if (text !== '') this.#say(`[${text}](${link.href})`);
  }

  #block(name: string): void {
    this.#endLink();
    const heading = /^h([1-6])$/.exec(name)?.[1];
    const before = heading !== undefined ? `${'#'.repeat(Number(heading))} ` : name === 'li' ? '- ' : name === 'hr' ? '---' : '';
    this.all.line(before);
    if (this.#mainDepth > 0) this.main.line(before);
  }

  #say(text: string): void {
    this.all.text(text, this.#preDepth > 0);
    if (this.#mainDepth > 0) this.main.text(text, this.#preDepth > 0);
  }
}

/** The main part is used instead of the whole page only if it has at least this much text. */
const ENOUGH = 200;

/** Parses HTML. Links are resolved against `url`. */
function readableHtml(html: string, url: string): Readable {
  const reader = new HtmlReader(url);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        reader.open(name, attributes);
      },
      onclosetag: (name) => {
        reader.close(name);
      },
      ontext: (text) => {
        reader.text(text);
      },
    },
    { decodeEntities: true },
  );
  for (let at = 0; at < html.length && !reader.all.full && reader.depth < MAX_DEPTH; at += CHUNK_CHARS)
    parser.write(html.slice(at, at + CHUNK_CHARS));
  parser.end();
  reader.end();
  const [all, main] = [reader.all.toString(), reader.main.toString()];
  const title = reader.title.replace(/\s+/g, ' ').trim().slice(0, 300);
  return { title, markdown: main.length >= ENOUGH ? main : all };
}

/** The encoding that the header or the first kilobyte of a page declares; UTF-8 by default. */
function charsetOf(contentType: string, bytes: Buffer): string {
  const named = /charset\s*=\s*["']?([\w:.-]+)/i;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return named.exec(contentType)?.[1] ?? named.exec(bytes.subarray(0, 1_024).toString('latin1'))?.[1] ?? 'utf-8';
}

/** Decodes bytes; invalid sequences become the replacement character, an unknown encoding is read as UTF-8. */
function decodeText(contentType: string, bytes: Buffer): string {
  const decode = (charset: string): string => new TextDecoder(charset).decode(bytes).replaceAll('\u0000', '');
  try {
    return decode(charsetOf(contentType, bytes));
  } catch {
    return decode('utf-8');
  }
}

/** Converts a page of any text type. */
export function readablePage(contentType: string, bytes: Buffer, url: string): Readable {
  const text = decodeText(contentType, bytes);
  if (/html/i.test(contentType) || /^\s*<(?:!doctype html|html)/i.test(text)) return readableHtml(text, url);
  return { title: '', markdown: text.slice(0, MAX_CHARS).trim() };
}
