// Receives the bytes of a broker.
//
// Reason: a reader that catches up spends a tenth of its time here. kafkajs allocates a buffer for each read, which makes V8 collect
// garbage sooner, and concatenates the parts of a response at its end, when they have left the CPU caches. A reopened connection also
// treats the partial response of the old one as the beginning of its first response.
// Upstream: https://github.com/tulios/kafkajs/pull/669 made the concatenation linear; the rest is not reported.
import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import type { Patch } from './patch.ts';

/** A connection of kafkajs, as far as this patch needs it. */
interface KafkajsConnection {
  socket?: { removeAllListeners(event: 'data'): unknown };
  chunks: Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  isConnected(): boolean;
  connect(): Promise<unknown>;
  processData(bytes: Buffer): void;
}

type ConnectionClass = new (...options: never[]) => KafkajsConnection;

/** The length of a response, an int32 before its first byte. */
const LENGTH_BYTES = 4;

const READ_BYTES = 65_536;
const KEEP_ALIVE_MS = 60_000;

/** Without TLS: a socket that reads into one buffer, from which the receiver must copy the data immediately. */
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
 * Copies incoming bytes; those of a response that is larger than one read go directly to their final position. A partial response of a
 * closed connection is discarded when the next connection opens.
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
