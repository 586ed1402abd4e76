// Continues a generation that the server interrupted, as it does to load new weights. The part before the interruption is kept: its text,
// its tokens, and their versions.
import type { Generation, GenerationRequest } from '../../streams/core/models.ts';

/** Nothing can be continued if nothing was generated, or if the reasoning or the calls of the model were separated from its text. */
const canGoOn = ({ text, reasoning, calls }: Generation): boolean => text !== '' && reasoning === '' && calls === undefined;

/** The remaining request after `before` was generated; undefined if no tokens are left. */
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

/** Joins two lists; empty if one of the parts lacks its list. */
const lists = (before: readonly number[], after: Generation, own: readonly number[]): readonly number[] =>
  before.length === 0 || (own.length === 0 && after.completionTokens > 0) ? [] : [...before, ...own];

/**
 * The second prompt must be the first one followed by its completion, token by token; otherwise the context of the second part is unknown.
 */
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

/** Joins both parts: the prompt of the first, and the end of the second. */
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

/** Ends a generation that was interrupted when it had used its last token. */
const cutOff = (before: Generation): Generation => ({ ...before, finishReason: 'length', stopText: '' });

/** One generation made with any number of requests. */
export class Continuation {
  readonly #whole: GenerationRequest;
  #before: Generation | undefined;
  /** The next request. */
  request: GenerationRequest;

  constructor(whole: GenerationRequest) {
    this.#whole = whole;
    this.request = whole;
  }

  /** The whole generation. */
  ended(generation: Generation): Generation {
    return this.#before === undefined ? generation : joined(this.#before, generation);
  }

  /** Adds the text before an interruption. Returns the whole generation if no tokens are left, and whether to continue. */
  interrupted(partial: Generation | undefined): Generation | 'go on' | 'no use' {
    if (partial === undefined || !canGoOn(partial)) return 'no use';
    this.#before = this.ended(partial);
    const rest = restOf(this.#whole, this.#before);
    if (rest === undefined) return cutOff(this.#before);
    this.request = rest;
    return 'go on';
  }

  /** Restarts if a server cannot continue a message; false if no continuation had started. */
  anew(): boolean {
    const hadBegun = this.#before !== undefined;
    this.#before = undefined;
    this.request = this.#whole;
    return hadBegun;
  }
}
