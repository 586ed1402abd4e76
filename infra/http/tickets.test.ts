import { describe, expect, it } from 'vitest';
import { testApi } from '../testing/api.ts';
import { createFakeStore } from '../testing/fake-store.ts';
import { createTicket, createTicketDesk, linkWithTicket } from './tickets.ts';

const token = 'a-token-of-the-dashboard';

describe('tickets', () => {
  it('are accepted once, with the token that made them, until they expire', () => {
    const take = createTicketDesk(token);
    const ticket = createTicket(token);
    expect([take(ticket), take(ticket), createTicketDesk('another-token-of-it')(createTicket(token))]).toEqual([true, false, false]);
    const old = createTicket(token, 0);
    expect([take(old, 12 * 3_600_000 - 1), createTicketDesk(token)(old, 12 * 3_600_000)]).toEqual([true, false]);
    for (const forged of ['', 'x', ticket.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')), `${ticket}x`])
      expect(take(forged)).toBe(false);
  });

  it('never show the token', () => {
    expect(linkWithTicket('http://127.0.0.1:1', token)).toMatch(/^http:\/\/127\.0\.0\.1:1\/\?ticket=/);
    expect(linkWithTicket('http://127.0.0.1:1', token)).not.toContain(token);
    expect(linkWithTicket('http://127.0.0.1:1', '')).toBe('http://127.0.0.1:1/');
  });
});

describe('a server with a token', () => {
  const file = { type: 'text/html', body: Buffer.from(''), br: Buffer.from(''), gzip: Buffer.from('') };
  const site = { document: file, assets: new Map(), scripts: new Map() };
  const open = () => testApi({ store: createFakeStore(), site, dashboardToken: token });

  it('requires it on loopback, accepts it as a key, and signs a browser in with a link that works once', async () => {
    const server = await open();
    expect((await server.app.inject('/v1/runs')).statusCode).toBe(401);
    expect((await server.app.inject({ url: '/v1/runs', headers: { authorization: `Bearer ${token}` } })).statusCode).toBe(200);
    const url = `/runs/a/steps?from=3&ticket=${createTicket(token)}`;
    const first = await server.app.inject(url);
    expect([first.statusCode, first.headers.location]).toEqual([303, '/runs/a/steps?from=3']);
    const cookie = String(first.headers['set-cookie']);
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await server.app.inject({ url: '/v1/runs', headers })).statusCode).toBe(200);
    const second = await server.app.inject(url);
    expect([second.statusCode, second.headers['set-cookie']]).toEqual([303, undefined]);
    await server.close();
  });

  it('accepts no ticket at a data route, and none in a frame of another site', async () => {
    const server = await open();
    expect((await server.app.inject(`/v1/session?ticket=${createTicket(token)}`)).headers['set-cookie']).toBeUndefined();
    const foreign = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' };
    const framed = await server.app.inject({ url: `/?ticket=${createTicket(token)}`, headers: foreign });
    expect([framed.statusCode, framed.headers['set-cookie']]).toEqual([403, undefined]);
    await server.close();
  });

  it('gives the token fewer scopes if keys are configured', async () => {
    const server = await testApi({ store: createFakeStore(), keys: ['a-key-of-everything:admin'], dashboardToken: token });
    const headers = { authorization: `Bearer ${token}` };
    expect((await server.app.inject({ url: '/v1/runs', headers })).statusCode).toBe(200);
    const written = await server.app.inject({ method: 'POST', url: '/registry/subjects/a/versions', headers, payload: { schema: '{}' } });
    expect(written.statusCode).toBe(403);
    await server.close();
  });
});
