// Reads server-sent events one at a time, like a browser.
export interface ServerSentEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

export class EventStream {
  readonly answer: Response;
  readonly #abort: AbortController;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #text = '';

  private constructor(answer: Response, abort: AbortController) {
    this.answer = answer;
    this.#abort = abort;
    this.#reader = answer.body?.getReader();
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const abort = new AbortController();
    return new EventStream(await fetch(url, { headers, signal: abort.signal }), abort);
  }

  /** The next event, without comments; undefined when the server has ended the stream. */
  async next(): Promise<ServerSentEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const event = parse(block);
        if (event !== undefined) return event;
        continue;
      }
      const part = await this.#reader?.read();
      if (part?.value === undefined) return undefined;
      this.#text += Buffer.from(part.value).toString();
    }
  }

  close(): void {
    this.#abort.abort();
  }
}

function parse(block: string): ServerSentEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]));
  const event = fields.get('event');
  if (event === undefined) return undefined;
  return { event, id: fields.get('id') ?? '', data: JSON.parse(fields.get('data') ?? '{}') as Record<string, unknown> };
}
