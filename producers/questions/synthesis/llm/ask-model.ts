// Asks a language model for an object with named fields. The model client handles retries, waits and limits. Guarantees: an unusable reply
// is returned as a reason; a server that does not reply at all is an error, because nothing can be made without it.
import type { GenerationFailure, GenerationRequest, LanguageModel } from '../../../../streams/core/models.ts';
import { CONTEXT_FULL } from '../../../../streams/core/models.ts';
import { PlatformError } from '../../../../streams/core/errors.ts';
import { fieldsOf } from './reply.ts';

export interface NamedModel {
  /** For messages. */
  readonly name: string;
  readonly model: LanguageModel;
  /** Maximum tokens of one reply. */
  readonly maxTokens: number;
}

export type ModelReply<T> = { readonly ok: true; readonly said: T } | { readonly ok: false; readonly reason: string };

export interface PromptRequest {
  readonly prompt: string;
  readonly decoding: GenerationRequest['decoding'];
  readonly signal: AbortSignal;
}

const SHOWN_CHARS = 200;

/** The server rejected this request; another prompt may succeed. */
const isOfThePrompt = ({ errorType, fatal }: GenerationFailure): boolean =>
  !fatal && (errorType === CONTEXT_FULL || /^model_http_4(?!08|09|25|29)\d\d$/.test(errorType));

/** The complete reply. Throws MODEL_UNAVAILABLE or MODEL_REFUSED when there is none, or the signal's reason after an abort. */
async function reply({ name, model, maxTokens }: NamedModel, { prompt, decoding, signal }: PromptRequest): Promise<ModelReply<string>> {
  const outcome = await model.generate({ prompt: [{ from: 'user', text: prompt }], stop: [], maxTokens, decoding }, signal);
  signal.throwIfAborted();
  if (outcome.ok) return { ok: true, said: outcome.generation.text };
  const { failure } = outcome;
  if (isOfThePrompt(failure)) return { ok: false, reason: failure.message };
  throw new PlatformError(failure.fatal ? 'MODEL_REFUSED' : 'MODEL_UNAVAILABLE', `making questions with ${name}: ${failure.message}`);
}

/** The named fields of a reply, all nonempty. */
export async function askFor<K extends string>(
  model: NamedModel,
  names: readonly K[],
  asking: PromptRequest,
): Promise<ModelReply<Readonly<Record<K, string>>>> {
  const replied = await reply(model, asking);
  if (!replied.ok) return replied;
  const said = fieldsOf(replied.said, names);
  if (said !== undefined) return { ok: true, said };
  const shown = replied.said.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS);
  return { ok: false, reason: `${model.name} replied without ${names.join(', ')}: "${shown}"` };
}

/** Sampling with a seed from the walk's own random sequence. */
export const sampled = (random: () => number): GenerationRequest['decoding'] => ({ kind: 'sample', seed: Math.floor(random() * 2 ** 31) });
