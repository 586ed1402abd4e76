// Closes a server without waiting for idle connections. Node's own closeIdleConnections does not close connections that were opened but
// never used, and clients keep such connections in their pools.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Call once, before listening. The returned function closes the server: running requests may finish within `patienceMs`. */
export function gracefulClose(server: Server, patienceMs: number): () => Promise<void> {
  const running = new Map<Socket, number>();
  let closing = false;
  const change = (socket: Socket, by: number): void => {
    const now = (running.get(socket) ?? 0) + by;
    if (running.has(socket)) running.set(socket, now);
    if (closing && now === 0) socket.destroy();
  };
  server.on('connection', (socket) => {
    running.set(socket, 0);
    socket.once('close', () => running.delete(socket));
  });
  server.on('request', (request, response) => {
    change(request.socket, 1);
    response.once('close', () => {
      change(request.socket, -1);
    });
  });
  return async () => {
    closing = true;
    const closed = new Promise<void>((done) => {
      server.close(() => {
        done();
      });
    });
    for (const [socket, requests] of running) if (requests === 0) socket.destroy();
    const patience = setTimeout(() => {
      for (const socket of running.keys()) socket.destroy();
    }, patienceMs);
    await closed;
    clearTimeout(patience);
  };
}
