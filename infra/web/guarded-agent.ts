// An undici agent that connects to public addresses only. Guarantee: no byte is sent to an address that was not judged,
// whatever a name resolved to before or resolves to later, because the very address that is connected to is the one that
// was looked up here; a numeric host, which is never looked up, is judged before the socket is made. Redirects are new
// connections and go through the same.
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { isPrivateAddress } from './private-addresses.ts';

/** Asks the system for all addresses of a name. */
export type Resolve = (hostname: string, options: LookupOptions & { readonly all: true }, done: Resolved) => void;
type Resolved = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

export interface GuardOptions {
  /** `host:port` that may be connected to although they are private, as they stand in the URL. */
  readonly allowed: ReadonlySet<string>;
  readonly connectTimeoutMs: number;
  /** The system's unless given. */
  readonly resolve?: Resolve;
}

/** Why a connection was not made. */
class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
  readonly code = 'PRIVATE_ADDRESS';
}

const refusal = (hostname: string): PrivateAddress => new PrivateAddress(`${hostname} is not a public address`);

type Lookup = (
  hostname: string,
  options: LookupOptions,
  done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/** A lookup that gives public addresses only: one private among them refuses the name. */
function guardedLookup(resolve: Resolve): Lookup {
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

/** As it stands in the list of what is allowed. */
const placeOf = (hostname: string, port: string, protocol: string): string =>
  `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;

const bracketless = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** Makes the agent; close it. */
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
 * Whether a URL that somebody else will fetch leads to public addresses only, as far as this machine can tell: the other
 * side looks the name up again. `unknown` when the name has no address here.
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
