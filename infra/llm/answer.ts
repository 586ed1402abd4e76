// A response of an OpenAI-compatible server, whole or in chunks, to a chat or completion request, with the fields that vLLM and SGLang add.
import type { FunctionCall } from '../../streams/core/agents.ts';
import type { Generation } from '../../streams/core/models.ts';
import { CallsBuilder } from './function-calls.ts';
import { at, countAt, listAt, textAt } from './json.ts';
import { stopTextIn } from './stop-text.ts';
import { SourceTrack, type SourceTerms } from './source.ts';
import { trackVersions, type VersionTrack } from './weight-versions.ts';

export interface AnswerBuilder {
  begin(headers: Headers): void;
  /** Takes the whole answer, or a chunk of it; returns whether it contains a token. */
  add(chunk: unknown): boolean;
  /** The error that the server reported in the middle of an answer; empty if there was none. */
  error(): string;
  /** Undefined until the server has said why the generation ended. */
  finish(): Generation | undefined;
  /** Whether weights of another run generated a part of it. */
  foreign(): boolean;
}

/** Where a server does not count tokens, this many characters count as one. */
const CHARS_PER_TOKEN = 4;

const TOKEN_ID = /^token_id:(\d+)$/;

interface Tokens {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
}

/** NaN for a value that is no number: token 0 or a probability of 1 would be wrong. */
const orUnknown = (values: readonly unknown[]): number[] =>
  values.map((value) => (typeof value === 'number' && Number.isFinite(value) ? value : NaN));

/** One unknown value makes the whole list useless. */
const allOrNone = (values: readonly number[]): readonly number[] => (values.some((one) => Number.isNaN(one)) ? [] : values);

/** Ids and logprobs of the tokens of a choice, in whichever of the known places they are. */
function tokensOf(choice: unknown): Tokens {
  const content = listAt(choice, 'logprobs', 'content');
  const listed = listAt(choice, 'logprobs', 'tokens');
  const sglang = listAt(choice, 'meta_info', 'output_token_logprobs');
  if (sglang.length > 0) return { ids: orUnknown(sglang.map((one) => at(one, 1))), logprobs: orUnknown(sglang.map((one) => at(one, 0))) };
  const logprobs = content.length > 0 ? content.map((one) => at(one, 'logprob')) : listAt(choice, 'logprobs', 'token_logprobs');
  const texts = content.length > 0 ? content.map((one) => at(one, 'token')) : listed;
  const named = texts.flatMap((text) => (typeof text === 'string' ? (TOKEN_ID.exec(text)?.[1] ?? []) : [])).map(Number);
  const given = listAt(choice, 'token_ids');
  return { ids: given.length > 0 ? orUnknown(given) : named, logprobs: orUnknown(logprobs) };
}

const firstText = (...texts: readonly string[]): string => texts.find((text) => text !== '') ?? '';

const textIn = (choice: unknown): string =>
  firstText(textAt(choice, 'text'), textAt(choice, 'delta', 'content'), textAt(choice, 'message', 'content'));

const reasoningIn = (choice: unknown): string =>
  firstText(...['delta', 'message'].flatMap((part) => [textAt(choice, part, 'reasoning_content'), textAt(choice, part, 'reasoning')]));

const known = (calls: readonly FunctionCall[], servedAs: string): Pick<Generation, 'calls' | 'servedAs'> => ({
  ...(calls.length === 0 ? {} : { calls }),
  ...(servedAs === '' ? {} : { servedAs }),
});

class StreamedAnswer implements AnswerBuilder {
  readonly #promptChars: number;
  readonly #versions: VersionTrack;
  readonly #source: SourceTrack | undefined;
  readonly #texts: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #ids: number[] = [];
  readonly #logprobs: number[] = [];
  readonly #calls = new CallsBuilder();
  #finishReason = '';
  #stopText: string | undefined;
  /** Characters of text, reasoning, and the arguments of calls. */
  #chars = 0;
  #error = '';
  #servedAs = '';
  #promptTokens: number | undefined;
  #completionTokens: number | undefined;

  constructor({ promptChars, versionFrom, run, source }: AnswerOptions) {
    this.#source = source === undefined ? undefined : new SourceTrack(source);
    this.#promptChars = promptChars;
    this.#versions = trackVersions(versionFrom, run);
  }

  begin(headers: Headers): void {
    this.#versions.begin(headers);
  }

  foreign(): boolean {
    return this.#versions.foreign();
  }

  add(chunk: unknown): boolean {
    const error = at(chunk, 'error');
    if (error !== undefined && error !== null)
      this.#error = firstText(textAt(error, 'message'), typeof error === 'string' ? error : '', 'an error');
    this.#promptTokens = countAt(chunk, 'usage', 'prompt_tokens') ?? this.#promptTokens;
    this.#completionTokens = countAt(chunk, 'usage', 'completion_tokens') ?? this.#completionTokens;
    this.#servedAs = firstText(this.#servedAs, textAt(chunk, 'model'));
    this.#source?.add(chunk);
    const tokens = this.#addChoice(at(chunk, 'choices', 0));
    this.#versions.add(chunk, tokens);
    return tokens > 0;
  }

  /** Returns the number of tokens in the choice, as far as it is known. */
  #addChoice(choice: unknown): number {
    const [text, reasoning] = [textIn(choice), reasoningIn(choice)];
    const { ids, logprobs } = tokensOf(choice);
    const chars = text.length + reasoning.length + this.#calls.add(choice);
    this.#chars += chars;
    this.#texts.push(text);
    this.#reasoning.push(reasoning);
    this.#ids.push(...ids);
    this.#logprobs.push(...logprobs);
    this.#finishReason = firstText(textAt(choice, 'finish_reason'), this.#finishReason);
    this.#stopText = stopTextIn(choice) ?? this.#stopText;
    if (ids.length + logprobs.length > 0) return Math.max(ids.length, logprobs.length);
    return Math.ceil(chars / CHARS_PER_TOKEN);
  }

  error(): string {
    return this.#error;
  }

  finish(): Generation | undefined {
    if (this.#finishReason === '') return undefined;
    const [text, reasoning] = [this.#texts.join(''), this.#reasoning.join('')];
    const counted = Math.max(this.#ids.length, this.#logprobs.length);
    const estimate = counted > 0 ? counted : Math.ceil(this.#chars / CHARS_PER_TOKEN);
    const completionTokens = this.#completionTokens ?? estimate;
    // lists of two lengths cannot be matched to tokens
    const matched = this.#ids.length === 0 || this.#logprobs.length === 0 || this.#ids.length === this.#logprobs.length;
    return {
      ...{ text, reasoning, finishReason: this.#finishReason, stopText: this.#stopText, completionTokens },
      promptTokens: this.#promptTokens ?? Math.ceil(this.#promptChars / CHARS_PER_TOKEN),
      spans: this.#versions.spans(completionTokens),
      tokenIds: matched ? allOrNone(this.#ids) : [],
      logprobs: matched ? allOrNone(this.#logprobs) : [],
      ...known(this.#calls.all(), this.#servedAs),
      ...this.#from(text, reasoning, matched ? counted : 0),
    };
  }

  #from(text: string, reasoning: string, tokens: number): Pick<Generation, 'source'> {
    return this.#source === undefined ? {} : { source: this.#source.finish({ text, reasoning, tokens }) };
  }
}

export interface AnswerOptions {
  readonly promptChars: number;
  /** Where to look for versions. */
  readonly versionFrom: readonly string[];
  readonly run?: string | undefined;
  /** What is known about the generation before the answer; without it, the answer has no source. */
  readonly source?: SourceTerms;
}

/** An answer that has not begun. Token counts that the server does not give are a quarter of the characters. */
export const buildAnswer = (options: AnswerOptions): AnswerBuilder => new StreamedAnswer(options);
