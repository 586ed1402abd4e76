// Checks of ports before anything is started.
import { connect, createServer } from 'node:net';

/** True when this process could bind the port now. */
export function portIsFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** True when something accepts a connection within `timeoutMs`. */
export function portAnswers(host: string, port: number, timeoutMs = 1_000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => {
      settle(false);
    });
    socket.once('connect', () => {
      settle(true);
    });
    socket.once('error', () => {
      settle(false);
    });
  });
}

/** Host and port from `host:port` or an http(s) URL. */
export function endpointOf(address: string): { readonly host: string; readonly port: number } {
  const url = new URL(/^https?:/.test(address) ? address : `tcp://${address}`);
  const fallback = url.protocol === 'https:' ? 443 : 80;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? fallback : Number(url.port) };
}
