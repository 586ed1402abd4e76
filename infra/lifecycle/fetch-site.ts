// Detects who sent a request to a port on this machine: a program, a page that this port served, or a page of another origin. Any web page
// can send requests to 127.0.0.1; the browser reveals that in headers that pages cannot change.

/** Header names in lower case, as in Node. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The header that revealed a foreign page. */
export type ForeignHeader = 'sec-fetch-site' | 'origin' | 'host';

/** The address bar, a bookmark, or a page of the same origin. Programs do not send this header. */
const OWN_SITES = new Set(['none', 'same-origin']);

const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i;

/** True for `localhost`, 127.0.0.0/8 and `[::1]`, with or without a port. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host);

/**
 * The header that shows that a page of another origin sent the request; undefined for programs and for pages of this origin.
 * Pass `loopback` as `names` for a port that only this machine reaches: then any other Host name is foreign as well, because a page can
 * point its own name at 127.0.0.1 (DNS rebinding).
 */
export function foreignHeader(headers: RequestHeaders, names: 'loopback' | 'any' = 'loopback'): ForeignHeader | undefined {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && !OWN_SITES.has(one(site))) return 'sec-fetch-site';
  if (origin !== undefined && !isOriginOf(one(origin), host === undefined ? '' : one(host))) return 'origin';
  if (names === 'loopback' && host !== undefined && !isLoopbackHost(one(host))) return 'host';
  return undefined;
}

/** A repeated header matches none of the accepted values. */
const one = (value: string | readonly string[]): string => (typeof value === 'string' ? value : value.join(', '));

const isOriginOf = (origin: string, host: string): boolean =>
  host !== '' && origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase() && /^https?:\/\//i.test(origin);
