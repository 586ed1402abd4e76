// An inference engine for tests that reports every token: a token is a character, and a chat is rendered as tags around messages. It
// responds like vLLM or like SGLang, whole or streamed, and records what it read and wrote.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface EngineCall {
  readonly promptIds: readonly number[];
  readonly completionIds: readonly number[];
  readonly body: Readonly<Record<string, unknown>>;
}

export interface TokenEngine {
  readonly url: string;
  readonly calls: readonly EngineCall[];
  close(): Promise<void>;
}

interface EngineMessage {
  readonly role: string;
  readonly content: string;
}

export interface EngineOptions {
  readonly dialect: 'vllm' | 'sglang';
  /** What the model writes, call by call. */
  readonly writes: (call: number, prompt: string) => string;
  /** Version of its weights; it reports none unless given. */
  readonly version?: () => number;
  /** How the chat template shows an earlier message of the assistant. */
  readonly shows?: (content: string) => string;
  /** How the chat template shows the beginning of a message that is to be continued. */
  readonly begins?: (content: string) => string;
  /** Number of characters after which a call is aborted, as for new weights; undefined for a complete call. */
  readonly abortsAfter?: (call: number) => number | undefined;
}

const idsOf = (text: string): readonly number[] => Array.from(text, (character) => character.codePointAt(0) ?? 0);
const END = '\u0003';
const END_ID = 3;

type ShowMessage = (content: string) => string;

function render(messages: readonly EngineMessage[], goesOn: boolean, { shows, begins }: Record<'shows' | 'begins', ShowMessage>): string {
  const past = messages.map(({ role, content }, at) => {
    const last = goesOn && at === messages.length - 1;
    if (last) return `<|${role}|>${begins(content)}`;
    return `<|${role}|>${role === 'assistant' ? shows(content) : content}${END}`;
  });
  return `${past.join('')}${goesOn ? '' : '<|assistant|>'}`;
}

/** Cuts at the first stop string, which is in the tokens and not in the text; without one, adds an end token that has no text. */
function untilStop(
  text: string,
  stops: readonly string[],
): { readonly text: string; readonly tokens: string; readonly stopped: string | null } {
  const found = stops.map((stop) => ({ stop, at: text.indexOf(stop) })).filter(({ at }) => at >= 0);
  const [first] = found.sort((a, b) => a.at - b.at);
  if (first === undefined) return { text, tokens: text + END, stopped: null };
  return { text: text.slice(0, first.at), tokens: text.slice(0, first.at + first.stop.length), stopped: first.stop };
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}

function listed(text: string, chat: boolean): object {
  const tokens = Array.from(text);
  if (!chat) return { tokens, token_logprobs: tokens.map(() => -0.5) };
  return { content: tokens.map((token) => ({ token, logprob: -0.5, bytes: token === END ? [] : [...Buffer.from(token)] })) };
}

interface EngineAnswer {
  readonly prompt: object;
  readonly beside: object;
  readonly choice: object;
  readonly text: string;
  readonly end: object;
  readonly usage: object;
}

interface Asked {
  readonly streamed: boolean;
  readonly chat: boolean;
}

function send(response: ServerResponse, { streamed, chat }: Asked, parts: EngineAnswer): void {
  const head = { id: 'call-1', model: 'served', system_fingerprint: 'engine-1', ...parts.beside };
  if (!streamed) {
    const said = chat ? { message: { content: parts.text } } : { text: parts.text };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...head, choices: [{ ...said, ...parts.prompt, ...parts.choice, ...parts.end }], usage: parts.usage }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = (value: object): void => void response.write(`data: ${JSON.stringify(value)}\n\n`);
  chunk({ ...head, choices: [{ ...parts.prompt, ...(chat ? { delta: { content: '' } } : { text: '' }), finish_reason: null }] });
  const said = chat ? { delta: { content: parts.text } } : { text: parts.text };
  chunk({ id: 'call-1', choices: [{ ...said, ...parts.choice, finish_reason: null }] });
  chunk({ id: 'call-1', choices: [{ ...(chat ? { delta: {} } : { text: '' }), ...parts.end }], usage: parts.usage });
  response.end('data: [DONE]\n\n');
}

/** Listens on a free port of this machine; the caller closes it. */
export async function startTokenEngine({ dialect, writes, version, abortsAfter, ...template }: EngineOptions): Promise<TokenEngine> {
  const asIs: ShowMessage = (content) => content;
  const shown = { shows: asIs, begins: asIs, ...template };
  const calls: EngineCall[] = [];

  /** What the model writes in the next call, up to where it is stopped. */
  function write(prompt: string, stops: readonly string[]): ReturnType<typeof untilStop> & { readonly reason: string } {
    const call = calls.length;
    const whole = untilStop(writes(call, prompt), stops);
    const abortAt = abortsAfter?.(call);
    if (abortAt === undefined) return { ...whole, reason: 'stop' };
    const begun = whole.text.slice(0, abortAt);
    return { text: begun, tokens: begun, stopped: null, reason: 'abort' };
  }

  const endIn = (stopped: string | null): object => (dialect === 'vllm' ? { stop_reason: stopped } : { matched_stop: stopped ?? END_ID });

  /** In a chat response, vLLM puts the token ids of the prompt next to the choices, not into each choice. */
  const placed = (told: object, chat: boolean): Pick<EngineAnswer, 'prompt' | 'beside'> => {
    const served = version === undefined ? {} : { metadata: { weight_version: String(version()) } };
    return dialect === 'vllm' && chat ? { prompt: {}, beside: { ...told, ...served } } : { prompt: told, beside: served };
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const chat = request.url?.endsWith('/chat/completions') === true;
    const goesOn = body['continue_final_message'] === true;
    const prompt = chat ? render(body['messages'] as readonly EngineMessage[], goesOn, shown) : String(body['prompt']);
    const made = write(prompt, (body['stop'] ?? []) as readonly string[]);
    const [promptIds, completionIds] = [idsOf(prompt), idsOf(made.tokens)];
    calls.push({ promptIds, completionIds, body });
    const asked = body['return_token_ids'] === true;
    const told = asked ? { prompt_token_ids: promptIds } : {};
    send(
      response,
      { streamed: body['stream'] === true, chat },
      {
        ...placed(told, chat),
        choice: {
          ...(asked ? { token_ids: completionIds } : {}),
          ...(body['logprobs'] === undefined ? {} : { logprobs: listed(made.tokens, chat) }),
        },
        text: made.text,
        end: { finish_reason: made.reason, ...endIn(made.stopped) },
        usage: { prompt_tokens: promptIds.length, completion_tokens: completionIds.length },
      },
    );
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
