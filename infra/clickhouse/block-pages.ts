// The bytes of a block of ClickHouse's Native format, in reused pages.
import { putText, WIDEST } from '../../streams/core/utf8.ts';

/**
 * Just below the size for which glibc requests memory from the system each time; the first access to new memory costs more than filling it.
 */
const PAGE_BYTES = 120 * 1024;

/** Up to this length a loop is faster than a native call. */
const SHORT_BYTES = 96;

interface Reserved {
  readonly page: Buffer;
  readonly at: number;
}

/** Pages for reuse. Allocating new ones all the time would trigger a full garbage collection several times per second. */
const spare: Buffer[] = [];

const SPARE_PAGES = 512;

const NO_PAGE = Buffer.alloc(0);

/** Bytes of a block, page by page. */
export class BlockPages {
  #page: Buffer = NO_PAGE;
  #at = 0;
  #full: Buffer[] = [];
  readonly #used: Buffer[] = [];

  /** Called when the block is no longer read. */
  release(): void {
    for (const page of this.#used) if (page.length === PAGE_BYTES && spare.length < SPARE_PAGES) spare.push(page);
    this.#used.length = 0;
  }

  /** Takes the complete pages; at the end, all of them. */
  take(end: boolean): readonly Buffer[] {
    if (end) this.#close();
    const full = this.#full;
    this.#full = [];
    return full;
  }

  varint(value: number): void {
    this.#room(10);
    this.#at = putVarint(this.#page, value, this.#at);
  }

  text(text: string): void {
    this.#room(text.length * WIDEST + 10);
    const page = this.#page;
    // The byte length is known only after encoding; it rarely needs a longer varint than the length in characters.
    const guessed = varintBytes(text.length);
    const start = this.#at + guessed;
    const end = putText(page, text, start);
    const needed = varintBytes(end - start);
    if (needed !== guessed) page.copyWithin(this.#at + needed, start, end);
    this.#at = putVarint(page, end - start, this.#at) + end - start;
  }

  /** Writes a string that is already UTF-8. */
  bytes(source: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#room(length + 10);
    const page = this.#page;
    const to = putVarint(page, length, this.#at);
    if (length > SHORT_BYTES) source.copy(page, to, start, end);
    else for (let at = 0; at < length; at += 1) page[to + at] = source[start + at] as number;
    this.#at = to + length;
  }

  /** Reserves bytes and returns the page and the position to write to. */
  reserve(bytes: number): Reserved {
    this.#room(bytes);
    const at = this.#at;
    this.#at += bytes;
    return { page: this.#page, at };
  }

  #room(bytes: number): void {
    if (this.#at + bytes > this.#page.length) this.#turn(bytes);
  }

  #turn(bytes: number): void {
    this.#close();
    this.#page = (bytes <= PAGE_BYTES ? spare.pop() : undefined) ?? Buffer.allocUnsafe(Math.max(PAGE_BYTES, bytes));
    this.#used.push(this.#page);
  }

  #close(): void {
    if (this.#at > 0) this.#full.push(this.#page.subarray(0, this.#at));
    this.#page = NO_PAGE;
    this.#at = 0;
  }
}

export function putInt32(page: Buffer, value: number, at: number): void {
  page[at] = value & 0xff;
  page[at + 1] = (value >>> 8) & 0xff;
  page[at + 2] = (value >>> 16) & 0xff;
  page[at + 3] = (value >>> 24) & 0xff;
}

export function putInt64(page: Buffer, value: number, at: number): void {
  const high = Math.floor(value / 4_294_967_296);
  putInt32(page, value - high * 4_294_967_296, at);
  putInt32(page, high, at + 4);
}

function putVarint(page: Buffer, value: number, start: number): number {
  let [rest, at] = [value, start];
  for (; rest > 0x7f; at += 1) {
    page[at] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  page[at] = rest;
  return at + 1;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}
