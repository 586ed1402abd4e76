// Hooks for response bodies: JSON responses to reads get an ETag and become 304 if the client has them; equal requests share a response for
// a short time (answer-cache.ts); texts are compressed if the client accepts it. Streams are passed through.
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createAnswerCache, type CachedAnswer } from './answer-cache.ts';
import { addVary } from './vary.ts';
import { codingOf, encode, MIN_COMPRESSED_BYTES, type Coding } from './codings.ts';

const CACHE_BYTES = 64_000_000;

/** Adds the hooks. Call it after the access checks, because a response is shared by all callers that may have it. */
export function shapeAnswers(app: FastifyInstance, options: { readonly freshMs: number }): void {
  const cache = createAnswerCache({ freshMs: options.freshMs, maxBytes: CACHE_BYTES, now: () => performance.now() });
  const leading = new WeakMap<FastifyRequest, (answer?: CachedAnswer) => void>();
  const shaped = new WeakSet<FastifyReply>();
  app.addHook('onRequest', async (request, reply) => {
    if (!isRead(request)) return;
    const entry = cache.enter(request.url);
    if (entry.kind === 'lead') {
      leading.set(request, entry.end);
      reply.raw.once('close', () => {
        entry.end();
      });
      return;
    }
    const answer = entry.kind === 'found' ? entry.answer : await entry.flight;
    if (answer === undefined) return;
    shaped.add(reply);
    if (entry.kind === 'found') reply.header('age', Math.floor(entry.ageMs / 1_000));
    return send(request, reply, answer);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (shaped.has(reply)) return payload;
    const end = leading.get(request) ?? noone;
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) {
      end();
      return payload;
    }
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const type = String(reply.getHeader('content-type') ?? '');
    if (!isRead(request) || reply.statusCode !== 200) {
      end();
      addVary(reply, 'accept-encoding');
      return compressed(request, reply, { body, coded: new Map(), type });
    }
    const answer: CachedAnswer = { body, etag: etagOf(body), contentType: type, coded: new Map() };
    end(answer);
    return describe(request, reply, answer) ? null : compressed(request, reply, { ...answer, type });
  });
}

const noone = (): void => undefined;

/** Not cached: a stream never ends, and a session belongs to one caller. */
const NEVER_SHARED: ReadonlySet<string | undefined> = new Set(['/v1/live', '/v1/session']);

/** GET and HEAD of cacheable resources, which have the same headers. */
const isRead = (request: FastifyRequest): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && request.url.startsWith('/v1/') && !NEVER_SHARED.has(request.routeOptions.url);

async function send(request: FastifyRequest, reply: FastifyReply, answer: CachedAnswer): Promise<FastifyReply> {
  if (describe(request, reply, answer)) return reply.send();
  reply.type(answer.contentType);
  return reply.send(await compressed(request, reply, { ...answer, type: answer.contentType }));
}

/** Sets the headers of a response that can be revalidated. Returns true if the client already has it, so that no body is sent. */
function describe(request: FastifyRequest, reply: FastifyReply, { etag }: CachedAnswer): boolean {
  reply.headers({ etag, 'cache-control': 'private, no-cache' });
  addVary(reply, 'accept-encoding');
  if (!holds(request.headers['if-none-match'], etag)) return false;
  reply.code(304);
  reply.removeHeader('content-length');
  reply.removeHeader('content-type');
  return true;
}

/** True if an If-None-Match header contains the tag, with weak comparison. */
export function holds(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const plain = (tag: string): string => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim() === '*' || plain(tag) === plain(etag));
}

const etagOf = (body: Buffer): string => `W/"${createHash('sha1').update(body).digest('base64url')}"`;

interface EncodedBody {
  readonly body: Buffer;
  readonly coded: Map<Coding, Buffer>;
  readonly type: string;
}

async function compressed(request: FastifyRequest, reply: FastifyReply, { body, coded, type }: EncodedBody): Promise<Buffer> {
  if (body.length < MIN_COMPRESSED_BYTES || reply.hasHeader('content-encoding') || isPacked(type)) return body;
  const coding = codingOf(request.headers['accept-encoding']);
  if (coding === 'identity') return body;
  const packed = coded.get(coding) ?? (await encode(body, coding));
  coded.set(coding, packed);
  reply.header('content-encoding', coding);
  reply.header('content-length', packed.length);
  return packed;
}

/** Parquet and Arrow are already compressed. */
const isPacked = (type: string): boolean => type.startsWith('application/vnd.apache.');
