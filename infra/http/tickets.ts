// One-time links that sign a browser in. A link carries a ticket made from the token of the dashboard, never the token, because
// a link may be seen in a list of processes, in a history, or over a shoulder. The ticket is worthless after its first use. The browser
// gets a session cookie and is redirected to the same address without the ticket. Used tickets are kept only in memory: after a restart,
// a ticket that has not expired works once more.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '../lifecycle/clock.ts';
import type { KeyRing } from './keys.ts';
import { isSecure, SESSION_SECONDS, sessionCookie } from './sessions.ts';

const TICKET = /^([\w-]{11})\.([0-9a-z]{1,9})\.([\w-]{22})$/;
const MAC_BYTES = 16;

const macOf = (token: string, nonce: string, end: string): Buffer =>
  createHmac('sha256', token).update(`turnstream ticket\n${nonce}\n${end}`).digest().subarray(0, MAC_BYTES);

/** Valid once, for as long as a session lasts. */
export function createTicket(token: string, nowMs = systemClock.now()): string {
  const nonce = randomBytes(8).toString('base64url');
  const end = (Math.floor(nowMs / 1_000) + SESSION_SECONDS).toString(36);
  return `${nonce}.${end}.${macOf(token, nonce, end).toString('base64url')}`;
}

/** The address that signs a browser in; without a ticket if there is no token. */
export const linkWithTicket = (url: string, token: string): string => (token === '' ? `${url}/` : `${url}/?ticket=${createTicket(token)}`);

/** Accepts each ticket of a token once. */
export function createTicketDesk(token: string): (ticket: string, nowMs?: number) => boolean {
  const used = new Set<string>();
  return (ticket, nowMs = systemClock.now()) => {
    const [, nonce = '', end = '', mac = ''] = TICKET.exec(ticket) ?? [];
    if (nonce === '' || parseInt(end, 36) * 1_000 <= nowMs || used.has(nonce)) return false;
    if (!timingSafeEqual(macOf(token, nonce, end), Buffer.from(mac, 'base64url'))) return false;
    used.add(nonce);
    return true;
  };
}

/** Signs in a browser that opens any document with a ticket. Add it after the access checks. */
export function takeTickets(app: FastifyInstance, ring: KeyRing, token: string): void {
  const take = createTicketDesk(token);
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' || request.routeOptions.config.document !== true) return;
    const url = new URL(request.url, 'http://turnstream.invalid');
    const ticket = url.searchParams.get('ticket');
    if (ticket === null) return;
    const caller = take(ticket) ? ring.callerOf(token) : undefined;
    if (caller !== undefined) reply.header('set-cookie', sessionCookie(ring.sessionOf(caller), isSecure(request.headers)));
    url.searchParams.delete('ticket');
    // a ticket that is not accepted also leads to the page, which asks for a key
    await reply.redirect(`${url.pathname}${url.search}`, 303);
  });
}
