// Texts that many records share, such as the ids of a run, a group, or a trajectory, are turned into strings once instead of once per
// record: a trainer that reads only such fields spends a third of its decoding on them. A fixed amount of memory: each text has one place,
// determined by its last bytes, and replaces the text that was there.

/** A power of two. */
const PLACES = 4_096;
/** Longer texts are not kept, bytes. */
const LONGEST = 48;
/** Ids differ at their end. */
const HASHED = 8;

export class TextCache {
  readonly #bytes = new Uint8Array(PLACES * LONGEST);
  readonly #lengths = new Uint8Array(PLACES);
  readonly #texts: string[] = new Array<string>(PLACES).fill('');

  /** The text from `start` to `end` of `bytes`. */
  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > LONGEST) return bytes.toString('utf8', start, end);
    const place = placeOf(bytes, start, end);
    const base = place * LONGEST;
    if (this.#lengths[place] === length) {
      let at = length - 1;
      while (at >= 0 && this.#bytes[base + at] === bytes[start + at]) at -= 1;
      if (at < 0) return this.#texts[place] as string;
    }
    const text = bytes.toString('utf8', start, end);
    for (let at = 0; at < length; at += 1) this.#bytes[base + at] = bytes[start + at] as number;
    this.#lengths[place] = length;
    this.#texts[place] = text;
    return text;
  }
}

function placeOf(bytes: Buffer, start: number, end: number): number {
  let hash = end - start;
  for (let at = Math.max(start, end - HASHED); at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
  return (hash ^ (hash >>> 12)) & (PLACES - 1);
}
