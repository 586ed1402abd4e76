import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../testing/logger.ts';
import { plainSocket } from './connection.ts';
import './kafkajs.ts';

interface Fulfilled {
  readonly correlationId: number;
  readonly payload: Buffer;
}

interface Connection {
  /** Received bytes, counted by listen(). */
  received: number;
  readonly requestQueue: { fulfillRequest(fulfilled: Fulfilled): void };
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  isConnected(): boolean;
  processData(bytes: Buffer): void;
}

const Made = createRequire(import.meta.url)('kafkajs/src/network/connection.js') as new (options: object) => Connection;

const makeConnection = (port: number): Connection =>
  new Made({
    ...{ host: '127.0.0.1', port, requestTimeout: 1_000, connectionTimeout: 1_000 },
    logger: { namespace: () => ({ ...silentLogger, namespace: () => silentLogger }) },
    socketFactory: plainSocket,
  });

/** The port of a server that is closed when the test ends. */
async function serve(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Correlation id and body of each assembled response. */
function listen(connection: Connection): readonly [number, Buffer][] {
  const payloads: [number, Buffer][] = [];
  connection.requestQueue.fulfillRequest = ({ correlationId, payload }) => void payloads.push([correlationId, payload]);
  const process = connection.processData.bind(connection);
  connection.received = 0;
  connection.processData = (bytes) => {
    process(bytes);
    connection.received += bytes.length;
  };
  return payloads;
}

function responseOf(correlationId: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(4 + body.length, 0);
  head.writeInt32BE(correlationId, 4);
  return Buffer.concat([head, body]);
}

it.each([
  ['its length', Buffer.from([0, 0, 1])],
  ['a large one', Buffer.concat([Buffer.from([0, 4, 0, 0]), Buffer.alloc(70_000)])],
])('discards the partial response that a lost connection left behind: a part of %s', async (_part, half) => {
  const sockets: Socket[] = [];
  const connection = makeConnection(await serve((socket) => void sockets.push(socket.on('error', () => undefined))));
  const payloads = listen(connection);
  await connection.connect();
  await expect.poll(() => sockets.length).toBe(1);
  sockets[0]?.write(half);
  await expect.poll(() => connection.received).toBe(half.length);
  sockets[0]?.resetAndDestroy();
  await expect.poll(() => connection.isConnected()).toBe(false);
  await connection.connect();
  await expect.poll(() => sockets.length).toBe(2);
  sockets[1]?.write(responseOf(7, Buffer.from('whole')));
  await expect.poll(() => payloads).toEqual([[7, Buffer.from('whole')]]);
  await connection.disconnect();
  for (const socket of sockets) socket.destroy();
});

it('assembles responses from reads of any size, which all use the same buffer', () => {
  const sizes = fc.oneof(fc.nat(200), fc.integer({ min: 65_000, max: 200_000 }));
  fc.assert(
    fc.property(fc.array(sizes, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 65_536 }), { minLength: 1 }), (bodies, cuts) => {
      const expected = bodies.map((size, at): [number, Buffer] => [at, Buffer.alloc(size, at + 1)]);
      const stream = Buffer.concat(expected.map(([id, body]) => responseOf(id, body)));
      const connection = makeConnection(1);
      const payloads = listen(connection);
      const shared = Buffer.alloc(65_536);
      for (let at = 0, turn = 0; at < stream.length; turn += 1) {
        const taken = stream.copy(shared, 0, at, at + (cuts[turn % cuts.length] ?? 1));
        connection.processData(shared.subarray(0, taken));
        at += taken;
      }
      shared.fill(255);
      expect(payloads.map(([id, body]) => [id, body.toString('latin1')])).toEqual(
        expected.map(([id, body]) => [id, body.toString('latin1')]),
      );
    }),
  );
});

it('assembles the responses of a socket, reading large ones directly into their own buffers', async () => {
  const sizes = [10, 70_000, 65_528, 65_529, 900_000, 0, 3_000_000, 200, 262_144 + 65_536];
  const expected = sizes.map((size, at) => responseOf(at, randomBytes(size)));
  const connection = makeConnection(await serve((socket) => void socket.end(Buffer.concat(expected))));
  const payloads = listen(connection);
  const places = new Set<ArrayBufferLike>();
  const process = connection.processData.bind(connection);
  connection.processData = (bytes) => {
    places.add(bytes.buffer);
    process(bytes);
  };
  await connection.connect();
  await expect.poll(() => payloads.length).toBe(sizes.length);
  payloads.forEach(([id, body], at) => {
    expect(id).toBe(at);
    expect(body.equals(expected[at]?.subarray(8) ?? Buffer.alloc(0))).toBe(true);
    if (body.length > 500_000) expect(places.has(body.buffer)).toBe(true);
  });
  await connection.disconnect();
});
