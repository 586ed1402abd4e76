// A scripted language model for tests: an HTTP server with both OpenAI interfaces. It streams on request, stops at stop strings and at
// max_tokens, counts tokens of four characters, and reports the version of its weights where the script says.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the server received it. */
export interface SeenRequest {
  /** 0-based order of arrival. */
  readonly index: number;
  readonly api: 'chat' | 'completions';
  /** All messages, or the prompt, as one text. */
  readonly prompt: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage['headers'];
}

export interface Says {
  readonly kind: 'says';
  readonly text: string;
  readonly reasoning?: string;
  /** Function calls after the text; their arguments are sent unchanged. */
  readonly calls?: readonly { readonly name: string; readonly arguments: string; readonly id?: string }[];
  /** Delays before the first byte and between two chunks, ms. */
  readonly beforeMs?: number;
  readonly betweenMs?: number;
  /** Tokens per chunk. Default: all in one. */
  readonly chunkTokens?: number;
  /** Closes the connection after this many chunks, or within a response that is not streamed; sends no error. */
  readonly cutAfterChunks?: number;
  /** Changes the weights after this many tokens. */
  readonly swap?: { readonly afterTokens: number; readonly version: number };
  /** Where versions are reported. Default: nowhere. */
  readonly naming?: 'chunks' | 'header' | 'list' | 'spans';
  /** Whether tokens are counted and listed. Default: counted. */
  readonly tokens?: 'none' | 'counted' | 'ids' | 'logprobs' | 'ids_in_logprobs';
  readonly finishReason?: string;
  /** How it reports the stop string. Default: like vLLM. */
  readonly namesStop?: 'vllm' | 'sglang' | 'nowhere';
  /** Leaves the stop string in the text. */
  readonly keepsStop?: boolean;
}

export type ScriptedReply =
  | Says
  | { readonly kind: 'status'; readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** These bytes, with a content type. */
  | { readonly kind: 'raw'; readonly body: string; readonly type: string }
  | { readonly kind: 'hangs' }
  /** Closes the connection before a response. */
  | { readonly kind: 'hangs_up' };

export type LlmScript = (request: SeenRequest) => ScriptedReply | Promise<ScriptedReply>;

export interface LlmServer {
  /** Including /v1. */
  readonly url: string;
  /** The number of requests, and the maximum number of concurrent ones. */
  seen(): { readonly requests: number; readonly atOnce: number };
  setScript(script: LlmScript): void;
  setVersion(version: number): void;
  /** Sets the list of `GET /v1/models`; such requests are not counted. */
  setModels(models: readonly object[]): void;
  close(): Promise<void>;
}

const TOKEN_CHARS = 4;

/** Tokens of four characters. */
function tokensOf(text: string): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / TOKEN_CHARS) }, (_, at) => text.slice(at * TOKEN_CHARS, (at + 1) * TOKEN_CHARS));
}

interface ServedToken {
  readonly text: string;
  readonly version: number;
  readonly reasoning: boolean;
}

interface GeneratedTokens {
  readonly tokens: readonly ServedToken[];
  readonly finishReason: string;
  readonly stopped: string;
}

const sleep = (ms: number): Promise<void> => (ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve());

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}

/** The text up to the first stop string, and that stop string. */
function untilStop({ text, keepsStop = false }: Says, body: SeenRequest['body']): { readonly text: string; readonly stopped: string } {
  const stops = Array.isArray(body['stop']) ? (body['stop'] as string[]) : [];
  const ends = stops.map((stop) => ({ stop, at: text.indexOf(stop) })).filter(({ at }) => at >= 0);
  const first = ends.sort((a, b) => a.at - b.at)[0];
  if (first === undefined) return { text, stopped: '' };
  return { text: text.slice(0, first.at + (keepsStop ? first.stop.length : 0)), stopped: first.stop };
}

/** What a model with this script would write: up to a stop string and to max_tokens. */
function write(says: Says, body: SeenRequest['body'], version: number): GeneratedTokens {
  const { text, stopped } = untilStop(says, body);
  const texts = [
    ...tokensOf(says.reasoning ?? '').map((one) => [one, true] as const),
    ...tokensOf(text).map((one) => [one, false] as const),
  ];
  const most = typeof body['max_tokens'] === 'number' ? body['max_tokens'] : Infinity;
  const { afterTokens, version: after } = says.swap ?? { afterTokens: Infinity, version };
  const tokens = texts
    .slice(0, most)
    .map(([one, reasoning], at) => ({ text: one, reasoning, version: at >= afterTokens ? after : version }));
  const full = texts.length > most;
  const ended = says.calls === undefined ? 'stop' : 'tool_calls';
  return { tokens, finishReason: says.finishReason ?? (full ? 'length' : ended), stopped: full ? '' : stopped };
}

/** The fields of a choice that contains these tokens. */
function choiceOf(tokens: readonly ServedToken[], { api, body }: SeenRequest, says: Says): Record<string, unknown> {
  const join = (reasoning: boolean): string => tokens.flatMap((token) => (token.reasoning === reasoning ? [token.text] : [])).join('');
  const part = body['stream'] === true ? 'delta' : 'message';
  const content = { content: join(false), ...(says.reasoning === undefined ? {} : { reasoning_content: join(true) }) };
  const kind = says.tokens ?? 'counted';
  const named = tokens.map((token, at) => (kind === 'ids_in_logprobs' ? `token_id:${at}` : token.text));
  const logprobs = tokens.map((_, at) => -(at + 1) / 8);
  const listed =
    api === 'chat'
      ? { content: named.map((token, at) => ({ token, logprob: logprobs[at] })) }
      : { tokens: named, token_logprobs: logprobs };
  return {
    index: 0,
    ...(api === 'chat' ? { [part]: content } : { text: join(false) }),
    ...(kind === 'ids' ? { token_ids: tokens.map((_, at) => at) } : {}),
    ...(kind === 'logprobs' || kind === 'ids_in_logprobs' ? { logprobs: listed } : {}),
    finish_reason: null,
  };
}

/** Not streamed: the message contains the calls. */
function wholeChoice(tokens: readonly ServedToken[], request: SeenRequest, says: Says): Record<string, unknown> {
  const choice = choiceOf(tokens, request, says);
  const message = choice['message'];
  if (says.calls === undefined || typeof message !== 'object') return choice;
  return { ...choice, message: { ...message, tool_calls: callsOf(says) } };
}

/** Spans as SGLang lists them. */
function spansOf(tokens: readonly ServedToken[]): readonly object[] {
  const spans: { version: string; start: number; end: number }[] = [];
  for (const [at, { version }] of tokens.entries()) {
    const last = spans.at(-1);
    if (last?.version === `v${version}`) last.end = at + 1;
    else spans.push({ version: `v${version}`, start: at, end: at + 1 });
  }
  return spans;
}

/** Reports the newest version of these tokens, or the versions of all. The final chunk has no tokens of its own. */
function naming(says: Says, tokens: readonly ServedToken[], all: readonly ServedToken[]): object {
  const newest = tokens.at(-1) ?? all.at(-1);
  switch (says.naming) {
    case 'chunks':
      return { metadata: { weight_version: String(newest?.version) } };
    case 'list':
      return { output_versions: all.map(({ version }) => version) };
    case 'spans':
      return { metadata: { weight_versions: spansOf(all) } };
    default:
      return {};
  }
}

function stopOf({ namesStop = 'vllm' }: Says, stopped: string): object {
  const named = stopped === '' ? null : stopped;
  if (namesStop === 'vllm') return { stop_reason: named };
  // SGLang reports the token that ended a generation
  return namesStop === 'sglang' ? { matched_stop: named ?? 151_645 } : {};
}

const callsOf = ({ calls = [] }: Says) =>
  calls.map((call, at) => ({ id: call.id ?? `call_${at}`, type: 'function', function: { name: call.name, arguments: call.arguments } }));

/** Each call in three pieces, as servers stream them. */
function callChunks(says: Says): readonly object[] {
  return callsOf(says).flatMap(({ function: { name, arguments: given }, ...call }, index) => {
    const half = Math.floor(given.length / 2);
    const pieces = [given.slice(0, half), given.slice(half)];
    return [{ index, ...call, function: { name, arguments: '' } }, ...pieces.map((piece) => ({ index, function: { arguments: piece } }))];
  });
}

function endOf(request: SeenRequest, says: Says, written: GeneratedTokens): { readonly choice: object; readonly usage: object } {
  const callTokens = (says.calls ?? []).reduce((sum, call) => sum + tokensOf(call.arguments).length, 0);
  const usage = {
    prompt_tokens: Math.ceil(request.prompt.length / TOKEN_CHARS),
    completion_tokens: written.tokens.length + callTokens,
  };
  return {
    choice: {
      finish_reason: written.finishReason,
      ...stopOf(says, written.stopped),
    },
    usage: says.tokens === 'none' ? {} : { usage },
  };
}

function chunked(tokens: readonly ServedToken[], size: number): readonly (readonly ServedToken[])[] {
  return Array.from({ length: Math.ceil(tokens.length / size) }, (_, at) => tokens.slice(at * size, (at + 1) * size));
}

async function stream(
  response: ServerResponse,
  request: SeenRequest,
  { says, written }: { says: Says; written: GeneratedTokens },
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...header(says, written) });
  const send = (data: object): void => void response.write(`data: ${JSON.stringify(data)}\n\n`);
  const chunks = chunked(written.tokens, says.chunkTokens ?? Math.max(1, written.tokens.length));
  for (const [at, tokens] of chunks.entries()) {
    if (at === says.cutAfterChunks) {
      // the connection closes only after earlier output, including headers, was sent
      await new Promise<void>((resolve) => {
        response.write(': cut\n', () => {
          resolve();
        });
      });
      response.destroy();
      return;
    }
    send({ choices: [choiceOf(tokens, request, says)], ...(says.naming === 'chunks' ? naming(says, tokens, written.tokens) : {}) });
    await sleep(says.betweenMs ?? 0);
  }
  for (const call of callChunks(says)) send({ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] });
  const { choice, usage } = endOf(request, says, written);
  send({ choices: [{ ...choiceOf([], request, says), ...choice }], ...naming(says, [], written.tokens) });
  send({ choices: [], ...usage });
  response.end('data: [DONE]\n\n');
}

const header = (says: Says, { tokens }: GeneratedTokens): Record<string, string> =>
  says.naming === 'header' ? { 'x-policy-version': String(tokens[0]?.version ?? '') } : {};

async function say(response: ServerResponse, request: SeenRequest, { says, version }: { says: Says; version: number }): Promise<void> {
  const written = write(says, request.body, version);
  await sleep(says.beforeMs ?? 0);
  if (request.body['stream'] === true) {
    await stream(response, request, { says, written });
    return;
  }
  if (says.cutAfterChunks !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"choices": [{"text": "half of an');
    response.destroy();
    return;
  }
  const { choice, usage } = endOf(request, says, written);
  response.writeHead(200, { 'content-type': 'application/json', ...header(says, written) });
  response.end(
    JSON.stringify({
      choices: [{ ...wholeChoice(written.tokens, request, says), ...choice }],
      ...naming(says, written.tokens, written.tokens),
      ...usage,
    }),
  );
}

async function seenRequest(request: IncomingMessage, index: number): Promise<SeenRequest> {
  const body = await bodyOf(request);
  const api = request.url?.endsWith('/chat/completions') === true ? 'chat' : 'completions';
  const messages = api === 'chat' ? (body['messages'] as SeenRequest['messages']) : [];
  const prompt = api === 'chat' ? messages.map(({ content }) => content).join('\n') : String(body['prompt']);
  return { index, api, prompt, messages, body, headers: request.headers };
}

/** Listens on a free port of this machine; the caller closes it. */
export async function startLlmServer(script: LlmScript = () => ({ kind: 'says', text: '<answer> 42 </answer>' })): Promise<LlmServer> {
  let [current, version, requests, open, atOnce] = [script, 0, 0, 0, 0];
  let models: readonly object[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = await seenRequest(request, requests++);
    const reply = await current(seen);
    switch (reply.kind) {
      case 'says':
        await say(response, seen, { says: reply, version });
        if (reply.swap !== undefined) version = reply.swap.version;
        break;
      case 'status':
        response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
        response.end(reply.body ?? JSON.stringify({ error: { message: `status ${reply.status}` } }));
        break;
      case 'raw':
        response.writeHead(200, { 'content-type': reply.type });
        response.end(reply.body);
        break;
      case 'hangs_up':
        response.destroy();
        break;
      case 'hangs':
        break;
    }
  }

  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: models }));
      return;
    }
    open += 1;
    atOnce = Math.max(atOnce, open);
    response.once('close', () => {
      open -= 1;
    });
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500);
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen: () => ({ requests, atOnce }),
    setScript: (next) => void (current = next),
    setVersion: (next) => void (version = next),
    setModels: (next) => void (models = next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
