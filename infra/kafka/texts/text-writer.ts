// Writes long tool results that occur repeatedly only once (text-reference.ts).
//
// - A text goes to `texts` when this process writes it for the second time; a text that occurs once costs nothing. On start, a process
// learns which texts are there, whoever wrote them.
// - A turn is written after its text is acknowledged.
// - Every reader keeps all of `texts` in memory, so its size is limited: when it is full, further texts stay in their turns.
// - When `texts` cannot be read or written, turns are written whole.
import { FRAME_BYTES } from '../../../schemas/framing.ts';
import { layoutOf } from '../../../schemas/layout.ts';
import { latestSchema } from '../../../schemas/subjects.ts';
import { messageOf as errorText } from '../../../streams/core/errors.ts';
import type { Logger, LogReader, OutgoingEvent } from '../../../streams/core/ports.ts';
import { messageOf, type OutgoingMessage, type RawRecord } from '../records/message.ts';
import { sha256Of, TEXT_HEADER, textHeader } from '../records/text-reference.ts';

/** A shorter text is hardly larger than its reference, bytes. */
const MIN_BYTES = 1_024;
/** A larger text stays in its turn, bytes. */
const MAX_BYTES = 1_000_000;
/** Number of remembered hashes of texts that were written once. */
const REMEMBERED = 65_536;
/** After a failure turns are written whole for this long, ms. */
const REST_MS = 30_000;

export interface TextWriterOptions {
  readonly topic: {
    append(records: readonly RawRecord[]): Promise<unknown>;
    readToEnd(options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
  };
  /** Maximum total bytes of all texts. */
  readonly maxBytes: number;
  readonly logger: Logger;
  /** Monotonic clock, ms. */
  readonly now?: () => number;
}

type MessageContext = Parameters<typeof messageOf>[1];

interface Text {
  readonly sha256: string;
  readonly bytes: Buffer;
}

export class TextWriter {
  readonly #options: TextWriterOptions;
  readonly #now: () => number;
  /** Hashes in `texts`; undefined until the topic has been read. */
  #known: Set<string> | undefined;
  #bytes = 0;
  readonly #seen = new Set<string>();
  #restsUntil = Number.NEGATIVE_INFINITY;

  constructor(options: TextWriterOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether the result of `messagesOf` for these events could differ from that of `messageOf`. */
  concerns(events: readonly OutgoingEvent[]): boolean {
    return this.#now() >= this.#restsUntil && events.some((event) => resultOf(event).length >= MIN_BYTES);
  }

  /** One message per event, in order. Must not be called concurrently. */
  async messagesOf(events: readonly OutgoingEvent[], context: MessageContext): Promise<readonly OutgoingMessage[]> {
    const texts = events.map(textOf);
    const known = await this.#share(texts).catch((error: unknown) => {
      this.#restsUntil = this.#now() + REST_MS;
      this.#options.logger.warn({ error: errorText(error) }, 'writing to the topic of texts failed; turns are written whole for a while');
      return new Set<string>();
    });
    return events.map((event, index) => {
      const text = texts[index];
      return text === undefined || !known.has(text.sha256) ? messageOf(event, context) : referring(event, text.sha256, context);
    });
  }

  /** Writes repeated texts to `texts` and returns which ones are there afterwards. */
  async #share(texts: readonly (Text | undefined)[]): Promise<ReadonlySet<string>> {
    const known = (this.#known ??= await this.#load());
    const added = new Map<string, Text>();
    let bytes = this.#bytes;
    for (const text of texts) {
      if (text === undefined || known.has(text.sha256) || added.has(text.sha256) || !this.#occursAgain(text)) continue;
      if (bytes + text.bytes.length > this.#options.maxBytes) continue;
      bytes += text.bytes.length;
      added.set(text.sha256, text);
    }
    if (added.size === 0) return known;
    await this.#options.topic.append([...added.values()].map((text) => ({ key: text.sha256, value: text.bytes })));
    this.#bytes = bytes;
    for (const sha256 of added.keys()) {
      known.add(sha256);
      this.#seen.delete(sha256);
    }
    return known;
  }

  #occursAgain({ sha256 }: Text): boolean {
    if (this.#seen.has(sha256)) return true;
    this.#seen.add(sha256);
    const [oldest] = this.#seen;
    if (this.#seen.size > REMEMBERED && oldest !== undefined) this.#seen.delete(oldest);
    return false;
  }

  async #load(): Promise<Set<string>> {
    const known = new Set<string>();
    this.#bytes = 0;
    await this.#options.topic.readToEnd({
      onBatch: ({ records }) => {
        for (const { key, value } of records) {
          if (key === null || value === null || sha256Of(value) !== key.toString('latin1')) continue;
          this.#bytes += value.length;
          known.add(key.toString('latin1'));
        }
      },
    });
    return known;
  }
}

const resultOf = (outgoing: OutgoingEvent): string => (outgoing.type === 'TurnRecorded' ? outgoing.event.result : '');

function textOf(outgoing: OutgoingEvent): Text | undefined {
  const result = resultOf(outgoing);
  if (result.length < MIN_BYTES) return undefined;
  const bytes = Buffer.from(result);
  return bytes.length > MAX_BYTES ? undefined : { sha256: sha256Of(bytes), bytes };
}

const layout = layoutOf(latestSchema('TurnRecorded').schema);
const RESULT = layout.fields.indexOf('result');
const starts = new Int32Array(layout.fields.length);

/** The event with an empty result, and the position of the result. */
function referring(outgoing: OutgoingEvent, sha256: string, context: MessageContext): OutgoingMessage {
  if (outgoing.type !== 'TurnRecorded') return messageOf(outgoing, context);
  const message = messageOf({ ...outgoing, event: { ...outgoing.event, result: '' } }, context);
  layout.locate(message.value, FRAME_BYTES, starts);
  const header = textHeader({ at: starts[RESULT] ?? 0, sha256 });
  const bytes = message.bytes + TEXT_HEADER.length + header.length + 4;
  return { ...message, bytes, headers: { ...message.headers, [TEXT_HEADER]: header } };
}
