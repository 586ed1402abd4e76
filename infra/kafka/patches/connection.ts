// Receives the bytes of a broker.
//
// Reason: a reader that catches up spends a tenth of its time here. kafkajs allocates a buffer for each read, which makes V8 collect
// garbage sooner, and concatenates the parts of a response at its end, when they have left the CPU caches. Here a large response is read
// directly into its buffer. A reopened connection of kafkajs also treats the partial response of the old one as the beginning of its first
// response.
// Upstream: https://github.com/tulios/kafkajs/pull/669 made the concatenation linear; the rest is not reported.
import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import type { Patch } from './patch.ts';

/** A connection of kafkajs, as far as this patch needs it. */
interface KafkajsConnection {
  socket?: Socket;
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

/** Bytes of a read into the buffer of a socket; a response that is larger gets a buffer of its own. */
const READ_BYTES = 65_536;

/** Maximum bytes of a read into the buffer of a response. */
const DIRECT_READ_BYTES = 262_144;

const KEEP_ALIVE_MS = 60_000;

/** A socket that reads into one buffer, from which the receiver must copy the data immediately, unless it names another destination. */
class PlainSocket extends Socket {
  /** Where the next read goes. */
  destination: Buffer | undefined;

  constructor() {
    const own = Buffer.allocUnsafeSlow(READ_BYTES);
    const options: SocketConstructorOpts & ConnectOpts = {
      onread: {
        buffer: () => this.destination ?? own,
        callback: (count, bytes) => this.emit('data', bytes.subarray(0, count)) || true,
      },
    };
    super(options);
  }
}

/** Without TLS. */
export const plainSocket: ISocketFactory = ({ host, port, onConnect }): Socket =>
  new PlainSocket().connect({ host, port }, onConnect).setKeepAlive(true, KEEP_ALIVE_MS);

/**
 * Copies incoming bytes; those of a response that is larger than one read go directly to their final position, without a copy if the socket
 * is one of ours. A partial response of a closed connection is discarded when the next connection opens.
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
      this.#readInto(this.#large);
    }

    #fill(large: Buffer, bytes: Buffer): void {
      const taken = bytes.buffer === large.buffer ? bytes.length : bytes.copy(large, this.#filled);
      this.#filled += taken;
      this.#readInto(large);
      if (this.#filled < large.length) return;
      this.#forget();
      super.processData(large);
      if (taken < bytes.length) this.processData(bytes.subarray(taken));
    }

    /** The next read goes to the unfilled part of the response; after its end, to the buffer of the socket. */
    #readInto(large: Buffer): void {
      if (!(this.socket instanceof PlainSocket)) return;
      const end = Math.min(this.#filled + DIRECT_READ_BYTES, large.length);
      this.socket.destination = this.#filled < end ? large.subarray(this.#filled, end) : undefined;
    }

    #forget(): void {
      this.#large = undefined;
      this.chunks = [];
      this.bytesBuffered = 0;
    }
  };

export const connectionPatch: Patch = { module: 'network/connection.js', replace: connectionOf };
