import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runProbes } from './probes.ts';
import { ask, serverWith, setUpServer } from './server.testing.ts';

setUpServer();

describe('health', () => {
  const probe = (name: string, check: () => Promise<void>) => ({ name, check });

  it('is alive whatever the state of its dependencies, and reports that state', async () => {
    const server = await serverWith({
      probes: [
        probe('kafka', async () => undefined),
        probe('store', async () => {
          throw new Error('refused');
        }),
      ],
    });
    expect(await ask(server, { url: '/healthz' })).toMatchObject({
      status: 200,
      body: {
        alive: true,
        state: 'live',
        figures: { step: 3 },
        dependencies: [
          { name: 'kafka', state: 'up' },
          { name: 'store', state: 'down', detail: 'refused' },
        ],
      },
    });
  });

  it('is ready only when all dependencies are up', async () => {
    let up = false;
    const server = await serverWith({
      probes: [
        probe('store', async () => {
          if (!up) throw new Error('refused');
        }),
      ],
    });
    const before = await ask(server, { url: '/readyz' });
    expect(before).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
    expect((before.body as { detail: string }).detail).toContain('store');
    up = true;
    expect(await ask(server, { url: '/readyz' })).toMatchObject({ status: 200, body: { ready: true } });
  });

  it('does not wait for a probe that hangs', async () => {
    expect(await runProbes([probe('hung', () => new Promise(() => undefined))], 5)).toMatchObject([
      { state: 'down', detail: 'no answer within 5 ms' },
    ]);
  });

  it('shows metrics as Prometheus reads them', async () => {
    const { headers, body } = await ask(await serverWith(), { url: '/metrics' });
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(body).toBe('up 1\n');
  });
});

describe('a socket', () => {
  it('is listened on, and a port in use is reported as PORT_IN_USE', async () => {
    const server = await serverWith();
    const { url, port } = await server.listen();
    expect((await fetch(`${url}/small`)).status).toBe(200);
    const second = await serverWith({ port });
    await expect(second.listen()).rejects.toMatchObject({ code: 'PORT_IN_USE' });
  });

  it('that cannot be listened on is reported with its address', async () => {
    await expect((await serverWith({ host: '203.0.113.1' })).listen()).rejects.toThrow('listening on 203.0.113.1');
  });

  it('gets a problem document for bytes that are not HTTP', async () => {
    const server = await serverWith();
    const { port } = await server.listen();
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('this is not http\r\n\r\n'));
      const parts: Buffer[] = [];
      socket.on('data', (part) => parts.push(part));
      socket.on('close', () => {
        resolve(Buffer.concat(parts).toString());
      });
    });
    expect(answer).toContain('400 Bad Request');
    expect(answer).toContain('REQUEST_INVALID');
  });

  it('is closed at shutdown when a request does not end in time', async () => {
    const server = await serverWith({ closeTimeoutMs: 20 });
    const arrived = new Promise((resolve) => server.app.server.once('request', resolve));
    const { port } = await server.listen();
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write('POST /items HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).resume();
    await arrived;
    await server.close();
    await closed;
  });
});
