// Texts that pages derive from numbers and bytes, without the DOM.
import { visible } from '../kit/visible.ts';

export const measures = ['reward', 'turns', 'tokens'] as const;

/** Distance below which two distributions count as equal. */
const CLOSE = 0.1;

/** Summarizes the distances in a sentence. */
export function verdictOf(overall: Readonly<Record<string, number | null>>): string {
  if ((overall['discarded'] ?? 0) === 0) return 'Nothing was dropped.';
  const far = measures.filter((name) => (overall[`${name}_ks`] ?? 0) > CLOSE);
  if (far.length === 0) return 'What was dropped is distributed like what was kept.';
  const [last, ...others] = [...far].reverse();
  return `What was dropped differs from what was kept in ${[others.reverse().join(', '), last].filter(Boolean).join(' and ')}.`;
}

const BEFORE = 60;
const HEAD = 240;

/** Matches a text literally and in any case. The searched text is not lower-cased, because that can change its length. */
export const patternOf = (sought: string): RegExp => new RegExp(sought.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');

/** The text around the first match. */
export function headOf(text: string, q: string): string {
  const at = Math.max(0, text.search(patternOf(q)) - BEFORE);
  return `${at > 0 ? '…' : ''}${text.slice(at, at + HEAD)}`;
}

const MOST_BYTES = 2_048;
const LINE = 16;

/** A hex dump: offsets, bytes, and their text. */
export function hexOf(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, MOST_BYTES); at += LINE) {
    const part = [...bytes.slice(at, at + LINE)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(LINE * 3)} ${text}`);
  }
  if (bytes.length > MOST_BYTES) lines.push(`… ${bytes.length - MOST_BYTES} more bytes`);
  return visible(lines.join('\n'));
}
