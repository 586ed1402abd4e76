// One live client. It first gets the events it missed (if it sends its position), then new events; every event carries the positions to
// resume from, and so does a heartbeat when events that the client did not subscribe to have passed. Missed events are sent as fast as the
// client reads. Meanwhile, new events are held back, up to half of `maxBufferedBytes`; beyond that they are dropped and read from the log
// again. A client that does not keep up with new events, or reads nothing while it catches up, is closed at once and told where to resume:
// unsent frames are withdrawn, and the client resumes there. So memory is bounded by `maxBufferedBytes` plus one batch.
import type { EventType } from '../../../schemas/generated/events.ts';
import type { Position } from '../../../streams/core/ports.ts';
import type { LiveBatch } from './follower.ts';
import { frame, type EncodedEvent } from './message.ts';
import { LiveOutbox, type Wire } from './outbox.ts';
import { LivePositions } from './positions.ts';

export interface LiveFilter {
  readonly run?: string | undefined;
  /** Empty for all types. */
  readonly types: readonly EventType[];
}

export interface LiveClient {
  /** Sends the hello event with the positions from which everything will be delivered. */
  startAt(positions: readonly Position[]): void;
  /** The next offsets that the client needs. */
  readonly where: () => readonly Position[];
  /** Holds back live batches from now on. Call it before looking up the end of the log. */
  hold(): void;
  /** Delivers live batches; holds them back until `goLive`. */
  receive(batch: LiveBatch): void;
  /** Delivers batches that the client missed, oldest first, at the pace at which it reads. */
  catchUp(batch: LiveBatch): Promise<void>;
  /** Reports events that the log no longer has, and continues at `to`. */
  skip(to: Position): void;
  /** All missed events are sent: starts to deliver live batches. False when some were dropped: hold, and catch up again. */
  goLive(): boolean;
  heartbeat(): void;
  /** Ends the stream and reports where to resume. */
  finish(reason: string): void;
  readonly open: () => boolean;
}

export interface LiveClientOptions {
  readonly wire: Wire;
  readonly filter: LiveFilter;
  readonly maxBufferedBytes: number;
  /** How long a client that catches up may read nothing; default 30 s. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 30_000;
/** Size of a frame without its id and data. */
const FRAME_CHARS = 40;
const TOO_SLOW = 'the client reads slower than events come; connect again with Last-Event-ID';

export const createLiveClient = (options: LiveClientOptions): LiveClient => new BoundedClient(options);

class BoundedClient implements LiveClient {
  readonly #wire: Wire;
  readonly #patienceMs: number;
  readonly #outbox: LiveOutbox;
  #idChars = 0;
  readonly #filter: LiveFilter;
  readonly #maxBytes: number;
  #positions = new LivePositions();
  #held: LiveBatch[] | undefined = [];
  #heldBytes = 0;
  #open = true;
  /** Positions have moved since they were last sent. */
  #moved = false;

  constructor({ wire, filter, maxBufferedBytes, patienceMs = PATIENCE_MS }: LiveClientOptions) {
    this.#wire = wire;
    this.#outbox = new LiveOutbox(wire, '');
    this.#patienceMs = patienceMs;
    this.#filter = filter;
    this.#maxBytes = maxBufferedBytes;
  }

  readonly open = (): boolean => this.#open;
  readonly where = (): readonly Position[] => this.#positions.all();

  startAt(from: readonly Position[]): void {
    this.#positions = new LivePositions(from);
    this.#send('connected', JSON.stringify({ resume: this.#positions.toId() }));
  }

  hold(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#idChars = this.#positions.toId().length;
  }

  receive(batch: LiveBatch): void {
    if (this.#held === undefined) this.#deliver(batch);
    else this.#keepBack(batch, this.#held);
  }

  async catchUp(batch: LiveBatch): Promise<void> {
    for (const event of batch.events) {
      if (!this.#open) return;
      if (!this.#take(event)) continue;
      this.#send(event.type, event.data);
      if (this.#outbox.size > this.#maxBytes / 2 && !(await this.#outbox.emptied(this.#patienceMs))) this.#end('fell-behind', TOO_SLOW);
    }
    this.#advance(batch);
  }

  skip(to: Position): void {
    const from = this.#positions.next(to.topic, to.partition);
    this.#move(to);
    if (this.#open) this.#send('gap', JSON.stringify({ ...to, from, reason: 'the log no longer has these events' }));
  }

  goLive(): boolean {
    if (this.#heldBytes > this.#maxBytes / 2) return false;
    const waiting = this.#held ?? [];
    this.#held = undefined;
    this.#heldBytes = 0;
    for (const batch of waiting) this.#deliver(batch);
    return true;
  }

  heartbeat(): void {
    if (!this.#open || this.#outbox.size > 0) return;
    const id = this.#positions.toId();
    this.#outbox.push({ text: this.#moved ? `: alive\nid: ${id}\n\n` : ': alive\n\n', id });
    this.#moved = false;
  }

  finish(reason: string): void {
    this.#end('closing', reason);
  }

  #end(event: string, reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#held = undefined;
    const id = this.#outbox.takeBack() ?? this.#positions.toId();
    this.#wire.write(frame({ event, id, data: JSON.stringify({ reason, resume: id }) }));
    this.#wire.end();
  }

  #send(event: string, data: string): void {
    this.#moved = false;
    const id = this.#positions.toId();
    this.#outbox.push({ text: frame({ event, id, data }), id });
  }

  #deliver(batch: LiveBatch): void {
    for (const event of batch.events) {
      if (!this.#open) return;
      if (!this.#take(event)) continue;
      this.#send(event.type, event.data);
      if (this.#outbox.size > this.#maxBytes) this.#end('fell-behind', TOO_SLOW);
    }
    this.#advance(batch);
  }

  #keepBack(batch: LiveBatch, batches: LiveBatch[]): void {
    this.#heldBytes += batch.events.reduce((sum, { data }) => sum + data.length + this.#idChars + FRAME_CHARS, 0);
    if (this.#heldBytes <= this.#maxBytes / 2) batches.push(batch);
    else batches.length = 0;
  }

  /** Moves past the event; true when the client receives it. */
  #take(event: EncodedEvent): boolean {
    const { topic, partition, offset } = event.record;
    const next = this.#positions.next(topic, partition);
    if (next !== undefined && offset < next) return false;
    this.#move({ topic, partition, offset: offset + 1 });
    const { run, types } = this.#filter;
    return (run === undefined || run === event.runId) && (types.length === 0 || types.includes(event.type));
  }

  #advance({ topic, partition, nextOffset }: LiveBatch): void {
    const next = this.#positions.next(topic, partition);
    if (this.#open && (next === undefined || next < nextOffset)) this.#move({ topic, partition, offset: nextOffset });
  }

  #move(position: Position): void {
    this.#positions.set(position);
    this.#moved = true;
  }
}
