// The check at the door of every HTTP port that turnstream opens. A page of another origin can make a browser send almost any
// request to this machine: by fetch, form, image, script, frame, link, beacon or WebSocket. None of them gets past this check.
import { PlatformError } from '../../streams/core/errors.ts';
import { foreignHeader, isLoopbackHost, type ForeignHeader, type RequestHeaders } from './fetch-site.ts';

export interface Door {
  /** Address that the port listens on. */
  readonly host: string;
  /** Other names that people reach the port by, such as that of a reverse proxy; without ports. */
  readonly names?: readonly string[];
  /** Origins whose pages may ask, as browsers write them. */
  readonly origins?: readonly string[];
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** True when only programs on this machine can connect to the address. */
const isLoopback = (host: string): boolean => LOOPBACK.has(host);

/** The host name of a Host header in lower case, without port and brackets; undefined when it is none. */
function nameIn(host: string | undefined): string | undefined {
  const match = /^(\[[0-9a-f:]+\]|[^:[\]\s]+)(?::\d{1,5})?$/i.exec(host?.trim() ?? '');
  return match?.[1]?.toLowerCase().replace(/^\[|\]$/g, '');
}

/** The Host header names this machine: browsers resolve every name under .localhost to it. */
export const isLocalHostHeader = (host: string | undefined): boolean =>
  host !== undefined && (isLoopbackHost(host.trim()) || nameIn(host)?.endsWith('.localhost') === true);

/** Why a request is refused: a page of another origin sent it. Undefined for programs, the address bar and pages of this port. */
export function foreignRequest(headers: RequestHeaders, { host, names = [], origins = [] }: Door): PlatformError | undefined {
  const known = (name: string | undefined): boolean => name !== undefined && names.includes(name);
  const origin = one(headers['origin']);
  const foreign = foreignHeader(headers, 'any');
  const isProxied = foreign === 'origin' && known(nameIn(origin?.replace(/^https?:\/\//i, '')));
  const isListed = origin !== undefined && origins.includes(origin);
  if (foreign !== undefined && !isProxied && !isListed) return refusal(foreign);
  const asked = one(headers['host']);
  return isLoopback(host) && !isLocalHostHeader(asked) && !known(nameIn(asked)) ? refusal('host') : undefined;
}

const one = (value: RequestHeaders[string]): string | undefined => (typeof value === 'string' ? value : value?.join(', '));

const reasons: Readonly<Record<ForeignHeader, string>> = {
  'sec-fetch-site':
    'checking Sec-Fetch-Site: a web page of another origin sent this request; open the address itself, or use a program that is not a web page',
  origin: 'checking Origin: a web page of another origin sent this request; use a program that is not a web page',
  host: 'checking the Host header: this port listens on loopback only and answers to localhost, 127.0.0.1 and [::1]; use one of these names',
};

const refusal = (header: ForeignHeader): PlatformError => new PlatformError('FOREIGN_ORIGIN', reasons[header]);
