// An inference engine for tests, with the routes that vLLM and SGLang have for new weights. It loads nothing: it only remembers the path
// and the label that it was given, and whether it is paused.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export type EngineKind = 'vllm' | 'sglang';

interface ToldEngine {
  readonly status: number;
  readonly body: object;
}

export interface FakeEngine {
  /** As TURNSTREAM_ENGINES names it. */
  readonly name: string;
  readonly url: string;
  label: string;
  /** What its weights were loaded from; empty = those that it was started with. */
  path: string;
  paused: boolean;
  /** Routes that were called, in order, without those that only read. */
  readonly calls: string[];
  /** The next calls of this route answer with this status. */
  fail(route: string, times: number, status?: number): void;
  /** The next call of this route ends without an answer, after it took effect. */
  cut(route: string): void;
  /** As after a crash: the first weights, no label, running. */
  restart(): void;
  close(): Promise<void>;
}

const ok = (body: object = {}): ToldEngine => ({ status: 200, body });

type EngineState = Pick<FakeEngine, 'label' | 'path' | 'paused'>;
type EngineRoute = (state: EngineState, body: Readonly<Record<string, unknown>>) => ToldEngine;

/** Refuses to change weights while generations run. */
const whilePaused =
  (change: EngineRoute): EngineRoute =>
  (state, body) =>
    state.paused ? change(state, body) : { status: 409, body: { message: 'generations are running' } };

const stand =
  (paused: boolean): EngineRoute =>
  (state) => {
    state.paused = paused;
    return ok({ status: paused ? 'paused' : 'running' });
  };

const told: EngineRoute = ({ label }) => ok({ weight_version: label });

const dialects: Readonly<Record<EngineKind, Readonly<Record<string, EngineRoute>>>> = {
  vllm: {
    '/weight_info': told,
    '/pause?mode=abort': stand(true),
    '/resume': stand(false),
    '/update_weight_version': (state, body) => {
      state.label = String(body['new_version']);
      return ok({ success: true });
    },
    '/collective_rpc': whilePaused((state, body) => {
      if (body['method'] !== 'reload_weights') return { status: 400, body: { error: { message: 'no such method' } } };
      state.path = String((body['kwargs'] as Record<string, unknown>)['weights_path']);
      return ok({ results: [null] });
    }),
  },
  sglang: {
    '/model_info': told,
    '/pause_generation': stand(true),
    '/continue_generation': stand(false),
    '/update_weights_from_disk': whilePaused((state, body) => {
      state.path = String(body['model_path']);
      state.label = String(body['weight_version']);
      return ok({ success: true, message: 'Succeeded.' });
    }),
  },
};

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, unknown>;
}

/** Listens on a free port of this machine; the caller closes it. */
export async function startFakeEngine(kind: EngineKind, key = ''): Promise<FakeEngine> {
  const routes = dialects[kind];
  const failing = new Map<string, { times: number; readonly status: number }>();
  const cut = new Set<string>();
  const state: EngineState = { label: 'default', path: '', paused: false };
  const calls: string[] = [];

  function answer(request: IncomingMessage, body: Readonly<Record<string, unknown>>): ToldEngine {
    const { url: route = '', headers } = request;
    if (key !== '' && headers.authorization !== `Bearer ${key}`)
      return { status: 401, body: { error: `wrong key ${headers.authorization}` } };
    const served = routes[route];
    if (served === undefined) return { status: 404, body: { detail: 'Not Found' } };
    if (served !== told) calls.push(route);
    const fails = failing.get(route);
    if (fails === undefined || fails.times === 0) return served(state, body);
    fails.times -= 1;
    return { status: fails.status, body: { error: { message: 'it fails' } } };
  }

  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { status, body: said } = answer(request, body);
      if (cut.delete(request.url ?? '')) {
        request.socket.destroy();
        return;
      }
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    ...{ name: `${kind}=${url}`, url, calls },
    fail: (route: string, times: number, status = 500) => void failing.set(route, { times, status }),
    cut: (route: string) => void cut.add(route),
    restart: () => void Object.assign(state, { label: 'default', path: '', paused: false }),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  });
}
