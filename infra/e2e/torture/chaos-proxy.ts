// A loopback TCP proxy with fault injection, between roles and Kafka or ClickHouse. It identifies a connection by the first name that its
// client sends: the client id of Kafka's first request, or the user agent of an HTTP request.
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * pass: forwards. refuse: closes new and existing connections at once. reset: lets a few bytes through, then resets in mid-frame. delay:
 * delays every chunk. black-hole: accepts everything and forwards nothing.
 */
export type ProxyMode = 'pass' | 'refuse' | 'reset' | 'delay' | 'black-hole';

export interface ChaosProxy {
  readonly port: number;
  /** `whose` selects clients named `turnstream-<whose>…`, or `everyone`. */
  set(mode: ProxyMode, whose: string): void;
  close(): Promise<void>;
}

const RESET_AFTER_BYTES = 200;
const DELAY_MS = 700;
const NAME = /turnstream-([a-z]+)/;
/** A client sends its name within this many bytes. */
const NAME_WITHIN = 1_000;

interface ProxiedConnection {
  readonly client: Socket;
  readonly upstream: Socket;
  /** '' when the client sent none; undefined before its first bytes. */
  name: string | undefined;
  passed: number;
}

interface ProxyRule {
  readonly mode: ProxyMode;
  readonly whose: string;
}

/** The client name in its first bytes; '' when there is none. */
const nameIn = (first: Buffer): string => NAME.exec(first.toString('latin1', 0, NAME_WITHIN))?.[1] ?? '';

export async function startChaosProxy(options: { readonly port: number; readonly target: number }): Promise<ChaosProxy> {
  const pairs = new Set<ProxiedConnection>();
  let rule: ProxyRule = { mode: 'pass', whose: 'everyone' };

  const isMeant = (pair: ProxiedConnection): boolean => rule.whose === 'everyone' || pair.name === rule.whose;

  function cut(pair: ProxiedConnection): void {
    pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.upstream.resetAndDestroy();
  }

  function forward(pair: ProxiedConnection, to: Socket, chunk: Buffer): void {
    pair.passed += chunk.length;
    const mode = isMeant(pair) ? rule.mode : 'pass';
    if (mode === 'black-hole') return;
    if (mode === 'refuse') {
      cut(pair);
    } else if (mode === 'reset' && pair.passed > RESET_AFTER_BYTES) {
      to.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => {
        cut(pair);
      });
    } else if (mode === 'delay') {
      setTimeout(() => to.writable && to.write(chunk), DELAY_MS);
    } else {
      to.write(chunk);
    }
  }

  const server: Server = createServer((client) => {
    if (rule.mode === 'refuse' && rule.whose === 'everyone') {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ host: '127.0.0.1', port: options.target });
    const pair: ProxiedConnection = { client, upstream, name: undefined, passed: 0 };
    pairs.add(pair);
    client.once('data', (first) => {
      pair.name = nameIn(first);
    });
    join(pair, forward, { cut, gone: () => pairs.delete(pair) });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    set(mode, whose) {
      // dropped bytes cannot be restored: connections that lost some are closed
      for (const pair of pairs) if (isMeant(pair) && rule.mode !== 'pass') cut(pair);
      rule = { mode, whose };
      for (const pair of pairs) if (isMeant(pair) && mode === 'refuse') cut(pair);
    },
    close: () =>
      new Promise((resolve) => {
        for (const pair of pairs) cut(pair);
        server.close(() => {
          resolve();
        });
      }),
  };
}

interface PairHandlers {
  readonly cut: (pair: ProxiedConnection) => void;
  readonly gone: () => void;
}

function join(pair: ProxiedConnection, forward: (pair: ProxiedConnection, to: Socket, chunk: Buffer) => void, ends: PairHandlers): void {
  for (const [from, to] of [
    [pair.client, pair.upstream],
    [pair.upstream, pair.client],
  ] as const) {
    from.on('data', (chunk) => {
      forward(pair, to, chunk);
    });
    from.on('error', () => {
      ends.cut(pair);
    });
    from.on('end', () => to.end());
    from.on('close', () => {
      ends.gone();
      to.destroy();
    });
  }
}
