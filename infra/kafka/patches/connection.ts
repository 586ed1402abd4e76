// Receives the bytes of a broker.
//
// Reason: a reader that catches up spends a tenth of its time here. kafkajs allocates a buffer for each read, which makes V8
// collect garbage sooner, and joins the parts of a response at its end, when they have left the CPU caches. And a connection
// that is reopened takes the partial response of the old one for the beginning of its first response.
// Upstream: https://github.com/tulios/kafkajs/pull/669 made the joining linear; the rest is not reported.
import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import type { Patch } from './patch.ts';

/** A connection of kafkajs, as far as this patch needs it. */
interface Connection {
  socket?: { removeAllListeners(event: 'data'): unknown };
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  isConnected(): boolean;
  connect(): Promise<unknown>;
  processData(bytes: Buffer): void;
}

type ConnectionClass = new (...options: never[]) => Connection;

/** Before the first byte of a response its length is awaited, an int32. */
const LENGTH_BYTES = 4;

const READ_BYTES = 65_536;
const KEEP_ALIVE_MS = 60_000;

/** Without TLS: a socket that reads into one buffer, which whoever hears of its data must copy from at once. */
export const plainSocket: ISocketFactory = ({ host, port, onConnect }): Socket => {
  const socket: Socket = connect(
    {
      host,
      port,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback(count, bytes): boolean {
          return socket.emit('data', bytes.subarray(0, count)) || true;
        },
      },
    },
    onConnect,
  );
  return socket.setKeepAlive(true, KEEP_ALIVE_MS);
};

/**
 * Bytes that come in are copied, those of a response that is larger than a read to where they belong in it. The half of a
 * response that a cut connection left behind is not the beginning of the first one of the next connection.
 */
const connectionOf = (Original: ConnectionClass): ConnectionClass =>
  class extends Original {
    #large: Buffer | undefined;
    #filled = 0;

    override connect(): Promise<unknown> {
      if (!this.isConnected()) {
        this.socket?.removeAllListeners('data');
        this.#forget();
        this.bytesNeeded = LENGTH_BYTES;
      }
      return super.connect();
    }

    override processData(bytes: Buffer): void {
      if (this.#large !== undefined) {
        this.#fill(this.#large, bytes);
        return;
      }
      super.processData(Buffer.from(bytes));
      const [begun] = this.chunks;
      if (this.chunks.length !== 1 || begun === undefined || this.bytesNeeded <= READ_BYTES) return;
      this.#large = Buffer.allocUnsafeSlow(this.bytesNeeded);
      this.#filled = begun.copy(this.#large);
    }

    #fill(large: Buffer, bytes: Buffer): void {
      const taken = bytes.copy(large, this.#filled);
      this.#filled += taken;
      if (this.#filled < large.length) return;
      this.#forget();
      super.processData(large);
      if (taken < bytes.length) this.processData(bytes.subarray(taken));
    }

    #forget(): void {
      this.#large = undefined;
      this.chunks = [];
      this.bytesBuffered = 0;
    }
  };

export const connectionPatch: Patch = { module: 'network/connection.js', replace: connectionOf };
