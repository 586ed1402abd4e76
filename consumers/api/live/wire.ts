import type { FastifyReply } from 'fastify';
import type { Wire } from './outbox.ts';

/** How long an ended stream waits for a client that does not read its last bytes. */
const FAREWELL_MS = 300_000;

/** Starts the stream of a reply. */
export function startStream(reply: FastifyReply): void {
  const { raw } = reply;
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
  raw.writeHead(200, { 'content-type': EVENT_STREAM, 'x-accel-buffering': 'no' });
  raw.write('retry: 2000\n\n');
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

type Raw = Pick<FastifyReply['raw'], 'destroyed' | 'writableLength' | 'write' | 'end' | 'destroy' | 'on' | 'once'>;

export function wireOf(raw: Raw): Wire {
  return {
    write: (text) => !raw.destroyed && raw.write(text),
    onDrain: (listener) => void raw.on('drain', listener),
    onClose: (listener) => void raw.once('close', listener),
    end: () => {
      raw.end();
      destroyWhenStuck(raw);
    },
  };
}

/** A client that still reads gets its last bytes, however slowly; a dead one does not occupy its slot forever. */
function destroyWhenStuck(raw: Raw): void {
  let left = raw.writableLength;
  const timer = setInterval(() => {
    if (raw.writableLength === left) raw.destroy();
    left = raw.writableLength;
  }, FAREWELL_MS);
  timer.unref();
  raw.once('close', () => {
    clearInterval(timer);
  });
}
