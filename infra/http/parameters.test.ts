// Parameters arrive as texts and reach a route with the types in its schema.
import { expect, it } from 'vitest';
import { ask, serverWith, setUpServer } from './server.testing.ts';

setUpServer();

it.each<[string, object]>([
  ['limit=7', { limit: 7 }],
  ['limit=-3', { limit: -3 }],
  ['limit=007', { limit: 7 }],
  ['share=.5', { share: 0.5 }],
  ['share=1e-3', { share: 0.001 }],
  ['share=2.', { share: 2 }],
  ['open=false', { open: false }],
  ['open=true', { open: true }],
  ['names=a,b&names=c', { names: ['a', 'b', 'c'] }],
  ['names=5,null', { names: ['5', 'null'] }],
])('%s is read by type', async (query, read) => {
  const { status, body } = await ask(await serverWith(), { url: `/items/1?${query}` });
  expect([status, body]).toEqual([200, read]);
});

it.each(['limit=', 'limit=0x7', 'limit=1.5', 'limit=%205', 'limit=Infinity', 'share=1e999', 'share=NaN', 'share=.', 'open=1', 'open='])(
  '%s is rejected with the name of the parameter',
  async (query) => {
    const { status, body } = await ask(await serverWith(), { url: `/items/1?${query}` });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'REQUEST_INVALID', errors: [{ parameter: query.split('=')[0] }] });
  },
);

it('a long text that is almost a number is rejected quickly', async () => {
  const started = performance.now();
  const { status } = await ask(await serverWith(), { url: `/items/1?share=${'1'.repeat(50_000)}x` });
  expect(status).toBe(400);
  expect(performance.now() - started).toBeLessThan(2_000);
});
