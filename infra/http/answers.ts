// Hooks for response bodies: JSON responses to reads get an ETag and become 304 if the client has them; equal requests share a response for
// a short time (answer-cache.ts); texts are compressed if the client accepts it. Streams are passed through.
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createAnswerCache, type CachedAnswer } from './answer-cache.ts';
import { addVary } from './vary.ts';
import { codingOf, encode, MIN_COMPRESSED_BYTES } from './codings.ts';

const CACHE_BYTES = 64_000_000;

/** Adds the hooks. Call it after the access checks, because a response is shared by all callers that may have it. */
export function shapeAnswers(app: FastifyInstance, options: { readonly freshMs: number }): void {
  const cache = createAnswerCache({ freshMs: options.freshMs, maxBytes: CACHE_BYTES, now: () => performance.now() });
  const leading = new WeakMap<FastifyRequest, (answer?: CachedAnswer) => void>();
  const shaped = new WeakSet<FastifyReply>();
  const reuse = (request: FastifyRequest, reply: FastifyReply, answer: CachedAnswer): void => {
    shaped.add(reply);
    send(request, reply, answer);
  };
  app.addHook('onRequest', (request, reply, done) => {
    if (!isRead(request)) {
      done();
      return;
    }
    const entry = cache.enter(request.url);
    switch (entry.kind) {
      case 'found':
        reply.header('age', Math.floor(entry.ageMs / 1_000));
        reuse(request, reply, entry.answer);
        break;
      case 'wait':
        entry.flight
          .then((answer) => {
            if (answer === undefined) done();
            else reuse(request, reply, answer);
          })
          .catch(done);
        break;
      case 'lead':
        leading.set(request, entry.end);
        reply.raw.once('close', () => {
          entry.end();
        });
        done();
    }
  });
  app.addHook('onSend', (request, reply, ...[payload, done]) => {
    const end = leading.get(request) ?? noone;
    if (shaped.has(reply) || (typeof payload !== 'string' && !Buffer.isBuffer(payload))) {
      end();
      done(null, payload);
      return;
    }
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const contentType = String(reply.getHeader('content-type') ?? '');
    if (!isRead(request) || reply.statusCode !== 200) {
      end();
      addVary(reply, 'accept-encoding');
      whenReady(compressed(request, reply, { body, coded: new Map(), contentType }), done);
      return;
    }
    const answer: CachedAnswer = { body, etag: etagOf(body), contentType, coded: new Map() };
    end(answer);
    if (describe(request, reply, answer)) done(null, null);
    else whenReady(compressed(request, reply, answer), done);
  });
}

const noone = (): void => undefined;

/** Not cached: a stream never ends, and a session belongs to one caller. */
const NEVER_SHARED: ReadonlySet<string | undefined> = new Set(['/v1/live', '/v1/session']);

/** GET and HEAD of cacheable resources, which have the same headers. */
const isRead = (request: FastifyRequest): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && request.url.startsWith('/v1/') && !NEVER_SHARED.has(request.routeOptions.url);

function send(request: FastifyRequest, reply: FastifyReply, answer: CachedAnswer): void {
  if (describe(request, reply, answer)) {
    void reply.send();
    return;
  }
  reply.type(answer.contentType);
  whenReady(compressed(request, reply, answer), (error, body) => void reply.send(error ?? body));
}

/** Calls back at once if a body needs no compression: promises took a quarter of the processor time of a cached response. */
function whenReady(body: Buffer | Promise<Buffer>, done: (error: Error | null, body?: Buffer) => void): void {
  if (Buffer.isBuffer(body)) done(null, body);
  else
    body.then((ready) => {
      done(null, ready);
    }, done);
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

type EncodedBody = Omit<CachedAnswer, 'etag'>;

function compressed(request: FastifyRequest, reply: FastifyReply, { body, coded, contentType }: EncodedBody): Buffer | Promise<Buffer> {
  if (body.length < MIN_COMPRESSED_BYTES || reply.hasHeader('content-encoding') || isPacked(contentType)) return body;
  const coding = codingOf(request.headers['accept-encoding']);
  if (coding === 'identity') return body;
  const use = (packed: Buffer): Buffer => {
    coded.set(coding, packed);
    reply.headers({ 'content-encoding': coding, 'content-length': packed.length });
    return packed;
  };
  const known = coded.get(coding);
  return known === undefined ? encode(body, coding).then(use) : use(known);
}

/** Parquet and Arrow are already compressed. */
const isPacked = (type: string): boolean => type.startsWith('application/vnd.apache.');
