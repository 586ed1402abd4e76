// Parses multipart/form-data bodies: clients that keep long queries and parameters out of the URL send them this way.
import { badArguments, notImplemented } from '../clickhouse-error.ts';

const NAME = /^content-disposition:[^\r\n]*\bname="([^"\r\n]*)"/im;
const FILE = /^content-disposition:[^\r\n]*\bfilename=/im;

/** Fields by name, as text. Files (external tables) are rejected. */
export function parseMultipart(body: Buffer, contentType: string): ReadonlyMap<string, string> {
  const boundary = /\bboundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) throw badArguments('The multipart/form-data body names no boundary');
  // A leading line end makes the first boundary look like the others.
  const parts = `\r\n${body.toString('latin1')}`.split(`\r\n--${boundary}`).slice(1);
  if (parts.at(-1)?.startsWith('--') !== true) throw badArguments('The multipart/form-data body has no end');
  return new Map(parts.slice(0, -1).map(field));
}

function field(part: string): readonly [string, string] {
  const gap = part.indexOf('\r\n\r\n');
  const head = part.slice(0, Math.max(0, gap));
  const name = NAME.exec(head)?.[1];
  if (name === undefined) throw badArguments('A part of the multipart/form-data body has no name');
  if (FILE.test(head)) throw notImplemented('External tables (files in multipart/form-data) are not supported by the embedded store');
  return [utf8(name), utf8(part.slice(gap + 4))];
}

const utf8 = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('utf8');
