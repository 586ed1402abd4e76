import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPlatformError } from '../../streams/core/errors.ts';
import { storeContract } from '../testing/store.contract.ts';
import { startStoreHere } from '../testing/store.ts';
import { connectStore } from './client.ts';

let embedded: Awaited<ReturnType<typeof startStoreHere>>;
beforeAll(async () => {
  embedded = await startStoreHere();
});
afterAll(() => embedded.stop());

storeContract('the embedded one', async () =>
  connectStore({ url: embedded.url, database: 'test_contract', user: 'default', password: 'pass' }),
);

const remote = process.env['CLICKHOUSE_URL'] ?? '';
if (remote !== '') storeContract('CLICKHOUSE_URL', async () => connectStore({ url: remote, database: `test_contract_${process.pid}` }));
else describe.skip('a store: CLICKHOUSE_URL (not set)', () => undefined);

describe('a store that cannot be used', () => {
  const answering = async (answer: Parameters<typeof createServer>[1]): Promise<Server> => {
    const server = createServer(answer as never);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return server;
  };
  const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  it('is STORE_UNAVAILABLE when nobody listens', async () => {
    const server = await answering(() => undefined);
    const url = urlOf(server);
    await new Promise((done) => server.close(done));
    const store = connectStore({ url, database: 'test' });
    expect(await store.ping()).toBe(false);
    await expect(store.query('select 1')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retriable: true });
    await expect(store.insert('t', [{ a: 1 }], 'token')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
  });

  it.each([
    [
      'breaks the connection',
      (_: unknown, response: { destroy: () => void }) => {
        response.destroy();
      },
    ],
    ['does not answer in time', () => undefined],
  ])('is STORE_UNAVAILABLE when it %s', async (_, answer) => {
    const server = await answering(answer);
    const store = connectStore({ url: urlOf(server), database: 'test', timeoutMs: 200 });
    const error = await store.query('select 1').catch((thrown: unknown) => thrown);
    expect(isPlatformError(error, 'STORE_UNAVAILABLE')).toBe(true);
    await store.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });

  it('is STORE_REFUSED with a wrong password', async () => {
    const store = connectStore({ url: embedded.url, database: 'test', password: 'wrong' });
    await expect(store.query('select 1')).rejects.toMatchObject({ code: 'STORE_REFUSED', context: { clickhouseCode: 516 } });
    await store.close();
  });
});
