// The live stream of events, over server-sent events.
import { ConnectionFailed, passes } from './errors.ts';
import { pathOf, type Transport } from './transport.ts';

/** An event of the log. The type `gap` means that the log no longer has the missed events. */
export interface LiveEvent {
  readonly type: string;
  /** Position to resume after. */
  readonly id: string;
  readonly data: unknown;
}

export interface LiveOptions {
  readonly run?: string;
  readonly types?: readonly string[];
  /** Id of the event to resume after. Default: start with new events. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

/** Control messages of the stream. */
const NEWS: ReadonlySet<string> = new Set(['connected', 'fell-behind', 'closing']);
const PAUSE_MS = 1_000;

/** Reconnects after an interruption and resumes at the same position. */
export async function* follow(transport: Transport, options: LiveOptions): AsyncGenerator<LiveEvent> {
  let last = options.after;
  for (;;) {
    try {
      for await (const event of eventsOf(await open(transport, options, last))) {
        last = event.id;
        if (!NEWS.has(event.type)) yield event;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (last === undefined || !passes(error)) throw error;
    }
    await transport.sleep(PAUSE_MS);
  }
}

function open(transport: Transport, { run, types = [], signal }: LiveOptions, last: string | undefined): Promise<Response> {
  return transport.send(pathOf('live'), {
    query: { run, type: types.length === 0 ? undefined : types.join(',') },
    headers: { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) },
    ...(signal === undefined ? {} : { signal }),
  });
}

async function* eventsOf(response: Response): AsyncGenerator<LiveEvent> {
  let fields: Record<string, string> = {};
  for await (const line of linesOf(response)) {
    const { event = '', id = '', data } = fields;
    if (line !== '') {
      const at = line.indexOf(':');
      const [name, value] = [line.slice(0, at), line.slice(at + 1).trimStart()];
      fields[name] = name === 'data' && data !== undefined ? `${data}\n${value}` : value;
    } else if (data !== undefined) {
      yield { type: event, id, data: JSON.parse(data) as unknown };
      fields = { id };
    }
  }
}

/** Splits a body into lines. Throws ConnectionFailed if the connection breaks. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (cause) {
    throw new ConnectionFailed(`reading ${response.url}`, cause);
  }
}
