import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '../../../streams/core/errors.ts';
import { apiService, apiUrlOf, freeApiPort, type ApiServiceOptions } from './api-service.ts';
import type { RoleService } from './role-services.ts';
import type { RunningProcess } from './service.ts';

let dataDir = '';
const servers: Server[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'turnstream-api-port-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  rmSync(dataDir, { recursive: true, force: true });
});

/** Occupies a port. Default: any. */
async function take(port = 0): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}
async function leave(port: number): Promise<void> {
  const at = servers.findIndex((server) => (server.address() as AddressInfo).port === port);
  await Promise.all(servers.splice(at, 1).map((server) => new Promise((resolve) => server.close(resolve))));
}

const exit = { code: 2, signal: null };
const signal = new AbortController().signal;
function service(apiPort: number, over: Partial<ApiServiceOptions> = {}) {
  const ports: number[] = [];
  const taken: (number | undefined)[] = [];
  let failure: PlatformError | undefined;
  const running = { pid: 1, exited: new Promise<never>(() => undefined), stop: async () => undefined, kill: () => undefined };
  const role: RoleService = {
    ...{ name: 'api', tier: 2, pass: () => undefined, failure: () => failure },
    start: async (): Promise<RunningProcess> => running,
    launch: async () => running,
    judge: () => (failure === undefined ? 'restart' : { fatal: failure }),
  };
  const config = { dataDir, apiHost: '127.0.0.1', apiPort };
  const made = apiService({
    config,
    role,
    fixed: false,
    onPort: (port, instead) => {
      ports.push(port);
      taken.push(instead);
    },
    ...over,
  });
  return { made, ports, taken, fail: (code: 'PORT_IN_USE' | 'CONFIG_INVALID') => void (failure = new PlatformError(code, 'no good')) };
}

describe('the port of the API', () => {
  it('is the configured one while it is free, and stays the same across restarts', async () => {
    const port = await take();
    await leave(port);
    const { made, ports } = service(port);
    await made.launch(signal);
    await made.launch(signal);
    expect(ports).toEqual([port]);
  });

  it('is another one if the default is taken, and the same one at the next start', async () => {
    const taken = await take();
    const first = service(taken);
    await first.made.launch(signal);
    expect(first.ports).toHaveLength(1);
    expect(first.ports[0]).not.toBe(taken);
    const second = service(taken);
    await second.made.launch(signal);
    expect(second.ports).toEqual(first.ports);
    expect([...first.taken, ...second.taken], 'and says so').toEqual([taken, taken]);
    const chosen = service(0);
    await chosen.made.launch(signal);
    expect(chosen.ports).toEqual(first.ports);
    expect(chosen.taken).toEqual([undefined]);
  });

  it('changes when another program has bound it first', async () => {
    const port = await take();
    await leave(port);
    const { made, ports, fail } = service(port);
    await made.launch(signal);
    await take(port);
    fail('PORT_IN_USE');
    expect(made.judge(exit)).toBe('restart');
    await made.launch(signal);
    expect(ports).toHaveLength(2);
    expect(ports[1]).not.toBe(port);
    fail('CONFIG_INVALID');
    expect(made.judge(exit)).toMatchObject({ fatal: { code: 'CONFIG_INVALID' } });
  });

  it('is never another one if it was given explicitly', async () => {
    const taken = await take();
    const { made, ports, fail } = service(taken, { fixed: true });
    await made.launch(signal);
    expect(ports).toEqual([taken]);
    fail('PORT_IN_USE');
    expect(made.judge(exit)).toMatchObject({ fatal: { code: 'PORT_IN_USE' } });
  });

  it('of an API that runs alone is the default if that is free, otherwise another one', async () => {
    const port = await take();
    const config = { dataDir, apiHost: '127.0.0.1', apiPort: port };
    const other = await freeApiPort(config);
    expect(other).not.toBe(port);
    expect(await freeApiPort(config)).toBe(other);
    await leave(port);
    expect(await freeApiPort(config)).toBe(port);
    expect(await freeApiPort({ ...config, apiPort: 0 })).toBe(0);
  });

  it('has a URL that works on this machine', () => {
    expect(apiUrlOf('127.0.0.1', 1)).toBe('http://127.0.0.1:1');
    expect(apiUrlOf('0.0.0.0', 1)).toBe('http://127.0.0.1:1');
    expect(apiUrlOf('::1', 1)).toBe('http://[::1]:1');
  });
});
