// The origin check of every HTTP port that turnstream opens. A page of another origin can make a browser send almost any request to this
// machine: by fetch, form, image, script, frame, link, beacon or WebSocket. This check rejects all of them.
import { isIP } from 'node:net';
import { PlatformError } from '../../streams/core/errors.ts';
import { foreignHeader, isLoopbackHost, type ForeignHeader, type RequestHeaders } from './fetch-site.ts';

export interface Door {
  /** Address that the port is bound to. */
  readonly host: string;
  /** Other host names for the port, such as that of a reverse proxy; without ports. With names, Host is checked beyond loopback too. */
  readonly names?: readonly string[];
  /** Origins whose pages may send requests, in the form that browsers send. */
  readonly origins?: readonly string[];
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/** True when only programs on this machine can connect to the address. */
const isLoopback = (host: string): boolean => LOOPBACK.has(host);

/** The host name in a Host header, in lower case, without port and brackets; undefined when it is malformed. */
function nameIn(host: string | undefined): string | undefined {
  const match = /^(\[[0-9a-f:]+\]|[^:[\]\s]+)(?::\d{1,5})?$/i.exec(host?.trim() ?? '');
  return match?.[1]?.toLowerCase().replace(/^\[|\]$/g, '');
}

/** The Host header names this machine: browsers resolve every name under .localhost to it. */
export const isLocalHostHeader = (host: string | undefined): boolean =>
  host !== undefined && (isLoopbackHost(host.trim()) || nameIn(host)?.endsWith('.localhost') === true);

/** Why a request is rejected: a page of another origin sent it. Undefined for programs, the address bar and pages of this port. */
export function foreignRequest(headers: RequestHeaders, door: Door): PlatformError | undefined {
  const foreign = foreignHeader(headers, 'any');
  if (foreign !== undefined && !isLetIn(foreign, one(headers['origin']), door)) return refusal(foreign);
  return answersTo(one(headers['host']), door) ? undefined : refusal(isLoopback(door.host) ? 'host' : 'listed-host');
}

/** Whether a port answers to a Host header. Beyond loopback, probes may use an IP address: a page can point only names at this machine. */
function answersTo(host: string | undefined, door: Door): boolean {
  const name = nameIn(host);
  if (isLocalHostHeader(host) || isKnown(name, door)) return true;
  if (isLoopback(door.host)) return false;
  return (door.names ?? []).length === 0 || (name !== undefined && (isIP(name) !== 0 || name === door.host.toLowerCase()));
}

/** True for a page of a listed origin, or of this port behind a proxy with another name. */
function isLetIn(foreign: ForeignHeader, origin: string | undefined, door: Door): boolean {
  if (origin === undefined) return false;
  if (door.origins?.includes(origin) === true) return true;
  return foreign === 'origin' && isKnown(nameIn(origin.replace(/^https?:\/\//i, '')), door);
}

const isKnown = (name: string | undefined, { names = [] }: Door): boolean => name !== undefined && names.includes(name);

const one = (value: RequestHeaders[string]): string | undefined => (typeof value === 'string' ? value : value?.join(', '));

type RefusalReason = ForeignHeader | 'listed-host';

const reasons: Readonly<Record<RefusalReason, string>> = {
  'sec-fetch-site':
    'checking Sec-Fetch-Site: a web page of another origin sent this request; open the address itself, or use a program that is not a web page',
  origin: 'checking Origin: a web page of another origin sent this request; use a program that is not a web page',
  host: 'checking the Host header: this port listens on loopback only and answers to localhost, 127.0.0.1 and [::1]; use one of these names',
  'listed-host':
    'checking the Host header: this port answers to IP addresses and the names in TURNSTREAM_API_NAMES; use one of these, or add the name',
};

const refusal = (reason: RefusalReason): PlatformError => new PlatformError('FOREIGN_ORIGIN', reasons[reason]);
