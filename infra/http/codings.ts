// Content encodings: which one a client accepts, and the compression itself, at levels that cost about as much as sending.
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Coding = 'br' | 'gzip' | 'identity';

/** Smaller bodies are sent uncompressed. */
export const MIN_COMPRESSED_BYTES = 1_024;

const GZIP_LEVEL = 1;
const BROTLI_QUALITY = 2;
const zip = promisify(gzip);
const brotli = promisify(brotliCompress);

/** The encoding that an Accept-Encoding header prefers; br wins a tie. */
export function codingOf(header: string | readonly string[] | undefined): Coding {
  if (header === undefined) return 'identity';
  const qualities = qualitiesOf(String(header));
  const any = qualities.get('*') ?? 0;
  const br = qualities.get('br') ?? any;
  const gzipped = qualities.get('gzip') ?? any;
  if (br <= 0 && gzipped <= 0) return 'identity';
  return br >= gzipped ? 'br' : 'gzip';
}

function qualitiesOf(header: string): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    if (name !== '') qualities.set(name, Number.isFinite(value) ? value : 0);
  }
  return qualities;
}

export async function encode(body: Buffer, coding: Coding): Promise<Buffer> {
  switch (coding) {
    case 'br':
      return brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
    case 'gzip':
      return zip(body, { level: GZIP_LEVEL });
    case 'identity':
      return body;
  }
}
