// Ports of the services that run on this machine.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { portIsFree } from '../../lifecycle/net.ts';

/** True when a ClickHouse answers there. */
export async function pings(url: string): Promise<boolean> {
  try {
    const answer = await fetch(new URL('/ping', url), { signal: AbortSignal.timeout(2_000) });
    return answer.ok;
  } catch {
    return false;
  }
}

/** The port of a service that chooses its own: the one it used before in this data directory if that is free, else another. */
export async function rememberedPort(dataDir: string, name: string): Promise<number> {
  const path = join(dataDir, 'ports.json');
  const known = readPorts(path);
  const before = known[name];
  if (before !== undefined && (await portIsFree('127.0.0.1', before))) return before;
  const port = await freePort();
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(path, JSON.stringify({ ...known, [name]: port }));
  return port;
}

function readPorts(path: string): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

/** A free port on the loopback interface. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}
