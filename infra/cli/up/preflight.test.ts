import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isPlatformError } from '../../../streams/core/errors.ts';
import { freePort } from '../../app/open/local-ports.ts';
import { loadConfig } from '../../config/load.ts';
import { preflight } from './preflight.ts';

describe('preflight', () => {
  const nothing = { java: 'java-that-is-not-there', maven: 'mvn' };

  it('names every problem at once, before anything is touched', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const taken = String((server.address() as AddressInfo).port);
    const planned = (env: Readonly<Record<string, string>>) => ({ config: loadConfig(env), training: undefined, apiPortFixed: true });
    const both = planned({ TURNSTREAM_API_PORT: taken, TURNSTREAM_STORE_PORT: taken });
    const error: unknown = await preflight(both, nothing).catch((caught: unknown) => caught);
    expect(isPlatformError(error, 'PORT_IN_USE')).toBe(true);
    for (const part of [
      `127.0.0.1:${taken} for the API`,
      `127.0.0.1:${taken} for the store`,
      'Java 17',
      'KAFKA_BROKERS',
      'docker compose',
    ]) {
      expect((error as Error).message).toContain(part);
    }
    await expect(preflight(planned({ TURNSTREAM_API_PORT: '0' }), nothing)).rejects.toMatchObject({ code: 'TOOLCHAIN_MISSING' });
    const there = { KAFKA_BROKERS: `127.0.0.1:${taken}`, CLICKHOUSE_URL: `http://127.0.0.1:${taken}` };
    const remote = { ...there, TURNSTREAM_STORE_PORT: taken };
    await preflight(planned({ ...remote, TURNSTREAM_API_PORT: String(await freePort()) }), nothing);
    await preflight({ ...planned({ ...remote, TURNSTREAM_API_PORT: taken }), apiPortFixed: false }, nothing);
    await new Promise((resolve) => server.close(resolve));
    await expect(preflight(planned({ ...there, TURNSTREAM_API_PORT: '0' }), nothing)).rejects.toMatchObject({
      code: 'KAFKA_UNAVAILABLE',
    });
  });
});
