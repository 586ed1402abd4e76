// Texts that are recognizably synthetic. They are slices of one page, so that millions of turns cost no memory.
import { createHash } from 'node:crypto';

const SENTENCES = [
  'This page was made for a load test and says nothing about the world. ',
  'A synthetic result stands where a search engine would have answered. ',
  'No language model wrote this sentence and no agent read it. ',
  'The length of the text is what is being tested, not its meaning. ',
];
const VARIANTS = 16;
const PAGE_CHARS = 1_000_000;
const REMEMBERED = 20_000;

const page = Array.from({ length: Math.ceil(PAGE_CHARS / 260) }, (_, at) => SENTENCES.map((s) => `${at} ${s}`).join('')).join('');

export interface SyntheticText {
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly sha256: string;
}

const remembered = new Map<number, SyntheticText>();

/** ASCII of exactly `chars` characters, at most 900,000; the same arguments give the same text. */
export function syntheticText(chars: number, variant: number): SyntheticText {
  const length = Math.max(0, Math.min(Math.floor(chars), 900_000));
  const start = (Math.floor(variant) % VARIANTS) * 1_021;
  const key = length * VARIANTS + (Math.floor(variant) % VARIANTS);
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const text = page.slice(start, start + length);
  const made = { text, sha256: createHash('sha256').update(text).digest('hex') };
  if (remembered.size >= REMEMBERED) remembered.clear();
  remembered.set(key, made);
  return made;
}
