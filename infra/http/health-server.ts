// Serves health and metrics of one role on its own port: only GET and HEAD of /healthz, /readyz and /metrics. It reveals no data and
// accepts no input, so it needs no keys; it listens on loopback by default.
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { foreignRequest } from '../lifecycle/doors.ts';
import { unready } from '../telemetry/health.ts';
import { listenError } from './listen-error.ts';
import { answerOf } from './problem.ts';

export interface HealthServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly role: string;
  readonly status: () => RoleStatus;
  /** When the role entered its current state, ms since the epoch. */
  readonly sinceMs: () => number;
  readonly metricsText: () => Promise<string>;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Resolves when the server listens. Throws PORT_IN_USE. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { host, role } = options;
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const foreign = foreignRequest(request.headers, { host });
    if (foreign !== undefined) answer(response, 403, answerOf(foreign, randomUUID()).problem);
    else if (request.method !== 'GET' && request.method !== 'HEAD') answer(response, 405, { code: 'METHOD_NOT_ALLOWED' });
    else if (path === '/healthz') answer(response, 200, healthOf(options));
    else if (path === '/readyz') answerReadiness(response, options);
    else if (path === '/metrics') void answerMetrics(response, options);
    else answer(response, 404, { code: 'NOT_FOUND' });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, resolve);
  }).catch((cause: unknown) => {
    throw listenError(`${host}:${options.port} for the health of ${role}`, 'TURNSTREAM_HEALTH_PORT', cause);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

const healthOf = ({ role, status, sinceMs }: HealthServerOptions) => ({
  alive: true,
  role,
  ...status(),
  since: new Date(sinceMs()).toISOString(),
  uptime_s: Math.round(process.uptime()),
});

function answerReadiness(response: ServerResponse, { role, status, sinceMs }: HealthServerOptions): void {
  const why = unready({ name: role, ...status(), sinceMs: sinceMs() }, Date.now());
  if (why === undefined) answer(response, 200, { ready: true });
  else answer(response, 503, { ready: false, code: 'NOT_READY', detail: why });
}

async function answerMetrics(response: ServerResponse, { metricsText }: HealthServerOptions): Promise<void> {
  try {
    const text = await metricsText();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
  } catch {
    answer(response, 500, { code: 'INTERNAL' });
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  const type = status === 403 ? 'application/problem+json' : 'application/json; charset=utf-8';
  const headers = { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, headers).end(JSON.stringify(body));
}
