// The provenance of a response, for training on it: the ids of its prompt and the bytes of its tokens, as vLLM and SGLang report them, its
// id, the model, and the engine. Whatever is not fully reported is unknown and stays empty.
import type { GenerationSource } from '../../streams/core/agents.ts';
import { at, listAt, textAt } from './json.ts';
import type { LlmOptions } from './options.ts';

export type SourceTerms = Pick<LlmOptions, 'model' | 'logprobsKind' | 'tokenizerSha256' | 'engine'> & { readonly sampling: string };

const isId = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
const isByte = (value: unknown): value is number => isId(value) && value < 256;

/** vLLM: beside the choices of a chat, in the choice of a completion. SGLang: in the choice. Streamed: in the first chunk. */
function promptIdsIn(chunk: unknown): readonly unknown[] {
  const own = listAt(chunk, 'prompt_token_ids');
  return own.length > 0 ? own : listAt(chunk, 'choices', 0, 'prompt_token_ids');
}

export class SourceTrack {
  readonly #terms: SourceTerms;
  readonly #tokenBytes: Buffer[] = [];
  /** False once a token arrived without its bytes. */
  #hasBytes = true;
  #promptIds: readonly number[] = [];
  #requestId = '';
  #model = '';
  #engine = '';

  constructor(terms: SourceTerms) {
    this.#terms = terms;
  }

  /** Takes a whole response or a chunk of it. */
  add(chunk: unknown): void {
    const ids = promptIdsIn(chunk);
    if (this.#promptIds.length === 0 && ids.every(isId)) this.#promptIds = ids;
    this.#requestId ||= textAt(chunk, 'id');
    this.#model ||= textAt(chunk, 'model');
    this.#engine ||= textAt(chunk, 'system_fingerprint');
    for (const token of listAt(chunk, 'choices', 0, 'logprobs', 'content')) {
      const bytes = at(token, 'bytes');
      if (Array.isArray(bytes) && bytes.every(isByte)) this.#tokenBytes.push(Buffer.from(bytes));
      else this.#hasBytes = false;
    }
  }

  finish(answer: { readonly text: string; readonly reasoning: string; readonly tokens: number }): GenerationSource {
    const { logprobsKind = '', tokenizerSha256 = '', engine = '', model, sampling } = this.#terms;
    return {
      requestId: this.#requestId,
      promptIds: this.#promptIds,
      tokenEnds: this.#endsIn(answer),
      ...{ logprobsKind, tokenizerSha256, sampling },
      model: this.#model || model,
      engine: engine || this.#engine,
    };
  }

  /** Empty unless the bytes of all tokens are the text or start with it: the text omits a stop string and the end of the message. */
  #endsIn({ text, reasoning, tokens }: { readonly text: string; readonly reasoning: string; readonly tokens: number }): readonly number[] {
    if (!this.#hasBytes || tokens === 0 || this.#tokenBytes.length !== tokens || reasoning !== '') return [];
    const wrote = Buffer.from(text);
    if (!Buffer.concat(this.#tokenBytes).subarray(0, wrote.length).equals(wrote)) return [];
    let end = 0;
    return this.#tokenBytes.map((bytes) => (end += bytes.length));
  }
}
