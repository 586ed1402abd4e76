// A generation that its server interrupted, as it does when it gets new weights, and that goes on where it was. What came before
// stays: its text, its tokens, and the versions behind them.
import type { Generation, GenerationRequest } from '../../streams/core/models.ts';

/**
 * Nothing that could be gone on with when nothing was generated, or when the reasoning of a model or its calls were told apart from its
 * text.
 */
const canGoOn = ({ text, reasoning, calls }: Generation): boolean => text !== '' && reasoning === '' && calls === undefined;

/** The rest of a request of which `before` was generated; undefined when no token is left. */
function restOf(request: GenerationRequest, before: Generation): GenerationRequest | undefined {
  const maxTokens = request.maxTokens - before.completionTokens;
  if (maxTokens <= 0) return undefined;
  return { ...request, prompt: [...request.prompt, { from: 'model', text: before.text }], maxTokens, goesOn: true };
}

type GenerationSpans = Generation['spans'];

const spansOf = (before: GenerationSpans, after: GenerationSpans): GenerationSpans => {
  const [last, next] = [before.at(-1), after[0]];
  if (last === undefined || next === undefined || last.version !== next.version) return [...before, ...after];
  return [...before.slice(0, -1), { ...last, tokens: last.tokens + next.tokens }, ...after.slice(1)];
};

/** Lists that one of the parts does not have are of no use. */
const lists = (before: readonly number[], after: Generation, own: readonly number[]): readonly number[] =>
  before.length === 0 || (own.length === 0 && after.completionTokens > 0) ? [] : [...before, ...own];

/** The second prompt is the first and what was written to it, token by token; else nobody knows which tokens the rest was written to. */
function goesOnExactly(before: Generation, after: Generation): boolean {
  const [first = [], second = []] = [before.source?.promptIds, after.source?.promptIds];
  const { tokenIds } = before;
  if (first.length === 0 || tokenIds.length === 0 || second.length !== first.length + tokenIds.length) return false;
  return second.every((id, at) => id === (at < first.length ? first[at] : tokenIds[at - first.length]));
}

const sourceOf = (before: Generation, after: Generation): Pick<Generation, 'source'> => {
  const source = joinedSource(before, after);
  return source === undefined ? {} : { source };
};

function joinedSource(before: Generation, after: Generation): Generation['source'] {
  const [first, last] = [before.source, after.source];
  if (first === undefined || last === undefined) return undefined;
  const offset = Buffer.byteLength(before.text);
  const ends = first.tokenEnds.length === 0 || last.tokenEnds.length === 0 ? [] : last.tokenEnds.map((end) => offset + end);
  return {
    ...last,
    promptIds: goesOnExactly(before, after) ? first.promptIds : [],
    tokenEnds: ends.length === 0 ? [] : [...first.tokenEnds, ...ends],
    sampling: first.sampling,
  };
}

/** Both parts as one generation: it began with the prompt of the first, and ended as the second. */
const joined = (before: Generation, after: Generation): Generation => ({
  ...after,
  text: before.text + after.text,
  promptTokens: before.promptTokens,
  completionTokens: before.completionTokens + after.completionTokens,
  spans: spansOf(before.spans, after.spans),
  tokenIds: lists(before.tokenIds, after, after.tokenIds),
  logprobs: lists(before.logprobs, after, after.logprobs),
  ...sourceOf(before, after),
});

/** It was interrupted at its last token. */
const cutOff = (before: Generation): Generation => ({ ...before, finishReason: 'length', stopText: '' });

/** One generation over any number of requests. */
export class Continuation {
  readonly #whole: GenerationRequest;
  #before: Generation | undefined;
  /** What is to be asked next. */
  request: GenerationRequest;

  constructor(whole: GenerationRequest) {
    this.#whole = whole;
    this.request = whole;
  }

  /** The whole of it. */
  ended(generation: Generation): Generation {
    return this.#before === undefined ? generation : joined(this.#before, generation);
  }

  /** Takes the text before an interruption. Returns the whole answer when no tokens are left, and whether to continue. */
  interrupted(partial: Generation | undefined): Generation | 'go on' | 'no use' {
    if (partial === undefined || !canGoOn(partial)) return 'no use';
    this.#before = this.ended(partial);
    const rest = restOf(this.#whole, this.#before);
    if (rest === undefined) return cutOff(this.#before);
    this.request = rest;
    return 'go on';
  }

  /** Starts over when a server cannot continue a message; false if no continuation had begun. */
  anew(): boolean {
    const hadBegun = this.#before !== undefined;
    this.#before = undefined;
    this.request = this.#whole;
    return hadBegun;
  }
}
