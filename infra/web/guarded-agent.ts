// An undici agent that connects only to public addresses. Guarantee: no byte is sent to an unchecked address, even if a name resolves to
// another address later, because the agent connects to exactly the address that was looked up and checked here. A numeric host, which is
// never looked up, is checked before the socket is created. Redirects open new connections and pass the same checks.
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { isPrivateAddress } from './private-addresses.ts';

/** Resolves all addresses of a name. */
export type Resolve = (hostname: string, options: LookupOptions & { readonly all: true }, done: Resolved) => void;
type Resolved = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

export interface GuardOptions {
  /** `host:port` of private services that may be connected to, as written in the URL. */
  readonly allowed: ReadonlySet<string>;
  readonly connectTimeoutMs: number;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
}

/** Why a connection was not made. */
class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
  readonly code = 'PRIVATE_ADDRESS';
}

const refusal = (hostname: string): PrivateAddress => new PrivateAddress(`${hostname} is not a public address`);

type DnsLookup = (
  hostname: string,
  options: LookupOptions,
  done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/** A lookup that returns only public addresses: a name with any private address is rejected. */
function guardedLookup(resolve: Resolve): DnsLookup {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        done(error, []);
        return;
      }
      const [first] = addresses;
      if (first === undefined || addresses.some(({ address }) => isPrivateAddress(address))) {
        done(refusal(hostname), []);
        return;
      }
      if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** Host and port in the format of the allow-list. */
const placeOf = (hostname: string, port: string, protocol: string): string =>
  `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;

const bracketless = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** Creates the agent; the caller closes it. */
export function createGuardedAgent({ allowed, connectTimeoutMs, resolve = systemLookup }: GuardOptions): Agent {
  const base = { timeout: connectTimeoutMs, autoSelectFamily: true };
  const open = buildConnector(base);
  const guarded = buildConnector({ ...base, lookup: guardedLookup(resolve) });
  return new Agent({
    connect(options, callback) {
      const { hostname, port, protocol } = options;
      const bare = bracketless(hostname);
      if (allowed.has(placeOf(hostname, port, protocol))) {
        open(options, callback);
        return;
      }
      if (isIP(bare) !== 0 && isPrivateAddress(bare)) {
        callback(refusal(hostname), null);
        return;
      }
      guarded(options, callback);
    },
    connections: 16,
    pipelining: 1,
    keepAliveTimeout: 4_000,
    maxHeaderSize: 32 * 1_024,
  });
}

/**
 * Whether a URL that another service will fetch leads to public addresses, as far as this machine can tell: the other service resolves the
 * name again. `unknown` when the name does not resolve here.
 */
export function judgeUrl(
  { hostname, port, protocol }: URL,
  { allowed, resolve = systemLookup }: Pick<GuardOptions, 'allowed' | 'resolve'>,
): Promise<'public' | 'private' | 'unknown'> {
  if (allowed.has(placeOf(hostname, port, protocol))) return Promise.resolve('public');
  const bare = bracketless(hostname);
  if (isIP(bare) !== 0) return Promise.resolve(isPrivateAddress(bare) ? 'private' : 'public');
  return new Promise((done) => {
    resolve(bare, { all: true }, (error, addresses) => {
      if (error !== null || addresses.length === 0) done('unknown');
      else done(addresses.some(({ address }) => isPrivateAddress(address)) ? 'private' : 'public');
    });
  });
}
