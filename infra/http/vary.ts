import type { FastifyReply } from 'fastify';

/** Adds a request header to the Vary header of the response. */
export function addVary(reply: FastifyReply, header: string): void {
  const named = String(reply.getHeader('vary') ?? '');
  if (!named.split(', ').includes(header)) reply.header('vary', named === '' ? header : `${named}, ${header}`);
}
