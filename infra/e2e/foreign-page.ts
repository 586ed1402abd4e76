// A page of another origin in a real Chromium, which tries to reach ports of this machine in every way that a page can.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const page = readFileSync(new URL('./foreign-page.html', import.meta.url), 'utf8');

/** The Chromium of this machine; undefined when there is none. */
export const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find((name) => spawnSync(name, ['--version']).status === 0);

/** A foreign host name that resolves to this machine, as in DNS rebinding. */
export const FOREIGN_NAME = 'evil.test';

const flags = (profile: string): string[] => [
  ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions'],
  ...['--disable-background-networking', '--no-proxy-server', `--user-data-dir=${profile}`],
  `--host-resolver-rules=MAP ${FOREIGN_NAME} 127.0.0.1`,
];

async function withProfile<T>(work: (profile: string) => Promise<T>): Promise<T> {
  const profile = await mkdtemp(join(tmpdir(), 'turnstream-chromium-'));
  try {
    return await work(profile);
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What a user sees after typing the URL. */
export const typed = (url: string): Promise<string> =>
  withProfile(async (profile) => (await run(chromium ?? '', [...flags(profile), '--dump-dom', url], { timeout: 60_000 })).stdout);

export interface ForeignPagePlan {
  readonly urls: readonly string[];
  /** Body of requests, possibly a SQL statement. */
  readonly statement: string;
  readonly json: string;
}

interface ForeignPageReport {
  readonly ways: readonly string[];
  /** Everything that the page could read. */
  readonly read: readonly string[];
}

export interface ForeignSite {
  readonly port: number;
  /** Opens the page under this host name, and resolves when it has tried everything. */
  attack(host: string, plan: ForeignPagePlan): Promise<ForeignPageReport>;
  close(): Promise<void>;
}

/** Serves the page, and redirects to any target. */
export async function startForeignSite(): Promise<ForeignSite> {
  let report: (text: string) => void = () => undefined;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://any');
    if (url.pathname === '/redirect') response.writeHead(307, { location: url.searchParams.get('to') ?? '' }).end();
    else if (url.pathname === '/report') {
      void bodyOf(request).then((text) => {
        response.end();
        report(text);
      });
    } else response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  });
  const port = await listen(server);
  return {
    port,
    attack: (host, plan) =>
      withProfile(async (profile) => {
        const reported = new Promise<string>((resolve) => (report = resolve));
        const url = `http://${host}:${port}/#${encodeURIComponent(JSON.stringify(plan))}`;
        const browser = spawn(chromium ?? '', [...flags(profile), '--remote-debugging-port=0', url], { stdio: 'ignore' });
        const gone = new Promise<never>((_resolve, reject) => {
          browser.once('exit', (code) => {
            reject(new Error(`chromium ended with ${code ?? 'a signal'}`));
          });
        });
        try {
          return JSON.parse(await Promise.race([reported, gone])) as ForeignPageReport;
        } finally {
          gone.catch(() => undefined);
          browser.kill('SIGKILL');
        }
      }),
    close: () => close(server),
  };
}

export interface OpenPort {
  readonly port: number;
  /** Method and Sec-Fetch-Dest of each request, or an attempt to use another protocol. */
  readonly seen: ReadonlySet<string>;
  close(): Promise<void>;
}

/** A port without origin checks, which shows which requests of the page get through to one. */
export async function startOpenPort(): Promise<OpenPort> {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    seen.add(`${request.method ?? ''} ${request.headers['sec-fetch-dest'] ?? ''}`);
    if (request.headers['upgrade'] !== undefined) seen.add('upgrade');
    response.writeHead(200, {
      'access-control-allow-origin': request.headers.origin ?? '*',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'PUT, DELETE, PATCH, QUERY',
      'access-control-allow-headers': 'content-type',
    });
    response.end('{}');
  });
  const port = await listen(server);
  return { port, seen, close: () => close(server) };
}

/** Ports on which a process listens, according to the system. */
export function listeningPorts(pid: number): readonly number[] {
  const links = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  const sockets = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const LISTENS = '0A';
  const ports = ['tcp', 'tcp6'].flatMap((file) =>
    readFileSync(`/proc/${pid}/net/${file}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === LISTENS && sockets.has(inode ?? ''))
      .map(([, local]) => Number.parseInt(local?.split(':')[1] ?? '0', 16)),
  );
  return [...new Set(ports)];
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
