import type { FastifyReply } from 'fastify';

/** Says that answers differ by this request header, beside those that were named before. */
export function addVary(reply: FastifyReply, header: string): void {
  const named = String(reply.getHeader('vary') ?? '');
  if (!named.split(', ').includes(header)) reply.header('vary', named === '' ? header : `${named}, ${header}`);
}
