// The body of a request: the fields that every OpenAI-compatible server knows, and those of the configuration. A transcript may have a
// million characters, and many are sent at once, so the body is never in memory as a whole: it is written piece by piece while it is sent.
// Its length is computed before.
import type { GenerationRequest, PromptPart } from '../../streams/core/models.ts';
import type { LlmOptions } from './options.ts';

const roles = { system: 'system', user: 'user', model: 'assistant', tool: 'tool' } as const;
/** Placeholder for the prompt in the JSON of the other fields. */
const PLACE = 'the prompt goes here';
const CHUNK_CHARS = 2 ** 15;
/** Separates a system message from the rest if the prompt is one text; escaped. */
const SYSTEM_GAP = '\\n\\n';

const decodingFields = ({ decoding }: GenerationRequest, { temperature, topP }: LlmOptions): object =>
  decoding.kind === 'greedy' ? { temperature: 0 } : { temperature, top_p: topP, seed: decoding.seed };

const functionFields = ({ functions }: GenerationRequest): object =>
  functions === undefined
    ? {}
    : {
        tools: functions.offered.map((offered) => ({ type: 'function', function: offered })),
        tool_choice: functions.choice,
        ...(functions.choice === 'none' ? {} : { parallel_tool_calls: false }),
      };

function fieldsOf(request: GenerationRequest, options: LlmOptions): Readonly<Record<string, unknown>> {
  const { api, model, stream, logprobs, tokenIds, extra } = options;
  const fields: Readonly<Record<string, unknown>> = {
    [api === 'chat' ? 'messages' : 'prompt']: PLACE,
    model,
    ...decodingFields(request, options),
    max_tokens: request.maxTokens,
    stop: request.stop.length === 0 ? null : request.stop,
    ...functionFields(request),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(tokenIds === true ? { return_token_ids: true } : {}),
    ...(logprobs ? { logprobs: api === 'chat' ? true : 1 } : {}),
    // as vLLM and SGLang name it
    ...(request.goesOn === true && api === 'chat' ? { continue_final_message: true, add_generation_prompt: false } : {}),
    ...extra,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Fields that determine which token comes next, and when the generation ends. */
const SAMPLING = new Set([
  ...['temperature', 'top_p', 'top_k', 'min_p', 'typical_p', 'seed', 'max_tokens', 'max_completion_tokens', 'min_tokens', 'stop'],
  ...['stop_token_ids', 'ignore_eos', 'repetition_penalty', 'presence_penalty', 'frequency_penalty', 'length_penalty', 'logit_bias'],
  ...['bad_words', 'allowed_token_ids', 'no_repeat_ngram_size', 'guided_regex', 'guided_choice', 'include_stop_str_in_output'],
]);

/** The sampling parameters of a request, JSON. Other fields of `extra` may hold secrets and stay out. */
export const samplingOf = (request: GenerationRequest, options: LlmOptions): string =>
  JSON.stringify(Object.fromEntries(Object.entries(fieldsOf(request, options)).filter(([name]) => SAMPLING.has(name))));

/** The inside of a JSON string. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function* textPieces(prompt: readonly PromptPart[]): Generator<string> {
  yield '"';
  for (const { from, text } of prompt) {
    yield escaped(text);
    if (from === 'system') yield SYSTEM_GAP;
  }
  yield '"';
}

function* messagePieces(prompt: readonly PromptPart[]): Generator<string> {
  yield '[';
  let last: PromptPart | undefined;
  for (const part of prompt) {
    if (beginsMessage(part, last))
      yield `${last === undefined ? '' : `${endOf(last)},`}{"role":"${roles[part.from]}",${answered(part)}"content":"`;
    last = part;
    yield escaped(part.text);
  }
  yield last === undefined ? ']' : `${endOf(last)}]`;
}

const beginsMessage = ({ from }: PromptPart, last: PromptPart | undefined): boolean =>
  from !== last?.from || from === 'tool' || last.calls !== undefined;

const answered = ({ callId }: PromptPart): string => (callId === undefined ? '' : `"tool_call_id":${JSON.stringify(callId)},`);

function endOf({ calls }: PromptPart): string {
  if (calls === undefined) return '"}';
  const made = calls.map(({ id, name, arguments: given }) => ({ id, type: 'function', function: { name, arguments: given } }));
  return `","tool_calls":${JSON.stringify(made)}}`;
}

function* pieces(request: GenerationRequest, options: LlmOptions): Generator<string> {
  const [before = '', after = ''] = JSON.stringify(fieldsOf(request, options)).split(JSON.stringify(PLACE));
  yield before;
  yield* options.api === 'chat' ? messagePieces(request.prompt) : textPieces(request.prompt);
  yield after;
}

/** Joins small pieces, because each write has a cost. */
async function* chunks(texts: Iterable<string>): AsyncGenerator<Uint8Array> {
  let gathered: string[] = [];
  let chars = 0;
  for (const text of texts) {
    gathered.push(text);
    chars += text.length;
    if (chars < CHUNK_CHARS) continue;
    yield Buffer.from(gathered.join(''));
    [gathered, chars] = [[], 0];
  }
  if (chars > 0) yield Buffer.from(gathered.join(''));
}

export interface RequestBody {
  readonly bytes: number;
  /** To be read once. */
  readonly chunks: AsyncGenerator<Uint8Array>;
}

/** A field of `extra` replaces ours of the same name; null removes it. */
export function requestBody(request: GenerationRequest, options: LlmOptions): RequestBody {
  let bytes = 0;
  for (const piece of pieces(request, options)) bytes += Buffer.byteLength(piece);
  return { bytes, chunks: chunks(pieces(request, options)) };
}
