// Serves ASearcher's retrieval interface over two tools, for ASearcher's own clients: POST /retrieve and POST /access, with compact JSON as
// FastAPI writes it. An invalid request gets status 422, as with FastAPI.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import { foreignRequest } from '../lifecycle/doors.ts';

export interface RetrievalSource {
  /** Documents for a query, best first. */
  retrieve(query: string, topK: number): Promise<readonly RetrievedDocument[]>;
  /** The page at a URL, or undefined. */
  access(url: string): Promise<RetrievedDocument | undefined>;
}

interface RetrievedDocument {
  readonly contents: string;
  readonly url: string;
  /** Present with return_scores. */
  readonly score: number;
}

export interface RetrievalServer {
  readonly url: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 2 ** 20;
const MAX_ITEMS = 1_000;
const DEFAULT_TOP_K = 3;

class Unprocessable extends Error {
  override readonly name = 'Unprocessable';
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > MAX_BODY_BYTES) throw new Unprocessable('the body is too large');
  }
  let json: unknown;
  try {
    json = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Unprocessable('the body is not JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Unprocessable('the body is not an object');
  return json as Readonly<Record<string, unknown>>;
}

function textsIn(body: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = body[name];
  if (!Array.isArray(value) || !value.every((one): one is string => typeof one === 'string')) {
    throw new Unprocessable(`${name} has to be a list of texts`);
  }
  if (value.length > MAX_ITEMS) throw new Unprocessable(`${name} has more than ${MAX_ITEMS} of them`);
  return value;
}

function topKIn({ topk }: Readonly<Record<string, unknown>>): number {
  if (topk === undefined || topk === null) return DEFAULT_TOP_K;
  if (typeof topk !== 'number' || !Number.isInteger(topk) || topk < 1 || topk > 100) throw new Unprocessable('topk has to be in 1..100');
  return topk;
}

type RetrievalBody = Readonly<Record<string, unknown>>;

async function retrieve(source: RetrievalSource, body: RetrievalBody): Promise<unknown> {
  const queries = textsIn(body, 'queries');
  const topK = topKIn(body);
  const lists = await Promise.all(queries.map((query) => source.retrieve(query, topK)));
  const write = ({ contents, url, score }: RetrievedDocument): unknown =>
    body['return_scores'] === true ? { document: { contents, url }, score } : { contents, url };
  return { result: lists.map((list) => list.map(write)) };
}

async function access(source: RetrievalSource, body: RetrievalBody): Promise<unknown> {
  const pages = await Promise.all(textsIn(body, 'urls').map((url) => source.access(url)));
  return { result: pages.map((page) => (page === undefined ? null : { contents: page.contents, url: page.url })) };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

async function answer(source: RetrievalSource, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '').split('?')[0];
  const serve = path === '/retrieve' ? retrieve : path === '/access' ? access : undefined;
  if (serve === undefined) send(response, 404, { detail: 'Not Found' });
  else if (request.method !== 'POST') send(response, 405, { detail: 'Method Not Allowed' });
  else {
    try {
      send(response, 200, await serve(source, await bodyOf(request)));
    } catch (error) {
      if (error instanceof Unprocessable) send(response, 422, { detail: error.message });
      else throw error;
    }
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const code = cause.code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'INTERNAL';
      reject(new PlatformError(code, `serving retrieval at ${host}:${port}: ${messageOf(cause)}`, { cause }));
    });
    server.listen(port, host, resolve);
  });
}

/** Serves until the returned server is closed. */
export async function startRetrievalServer(
  source: RetrievalSource,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<RetrievalServer> {
  const server = createServer((request, response) => {
    const foreign = foreignRequest(request.headers, { host });
    if (foreign !== undefined) {
      send(response, 403, { detail: foreign.message, code: foreign.code });
      return;
    }
    answer(source, request, response).catch((error: unknown) => {
      if (!response.headersSent) send(response, 500, { detail: messageOf(error) });
      response.destroy();
    });
  });
  await listen(server, port, host);
  const at = server.address() as AddressInfo;
  return {
    url: `http://${host}:${at.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
