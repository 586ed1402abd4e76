// Asks a language model whether an answer is correct. If a reply contains no verdict, the model is asked again a bounded number of times;
// then the answer is marked invalid, which counts as incorrect and is also counted separately. A model that does not reply at all is an
// error: nothing is recorded, and the evaluation resumes at this answer when it is started again.
import type { Generation, GenerationFailure, LanguageModel } from '../../streams/core/models.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { deriveSeed } from '../../streams/core/random.ts';
import { judgePrompt, type JudgedAnswer } from '../../streams/reward/judge-prompt.ts';

export interface JudgeVerdict {
  readonly verdict: 'correct' | 'incorrect' | 'invalid';
  readonly reason: string;
  /** How often the model was asked. */
  readonly tries: number;
  /**
   * Which model gave the verdict, as reported by its server: its name, empty if not reported, and the version of its weights, -1 = unknown.
   */
  readonly by?: { readonly servedAs: string; readonly version: number };
}

export interface Judge {
  /** Name of the model, for the record. */
  readonly name: string;
  judge(judged: JudgedAnswer, signal: AbortSignal): Promise<JudgeVerdict>;
}

export interface JudgeOptions {
  readonly name: string;
  readonly model: LanguageModel;
  readonly maxTokens: number;
  /** Maximum requests per answer until the model gives a verdict. */
  readonly tries: number;
}

const REASON_CHARS = 1_000;

/** The first request decodes greedily and the others sample, which may help a model that did not follow the format. */
export function createJudge({ name, model, maxTokens, tries }: JudgeOptions): Judge {
  return {
    name,
    async judge(judged, signal) {
      if (judged.answer.trim() === '') return { verdict: 'incorrect', reason: 'there is no answer', tries: 0 };
      const text = judgePrompt(judged);
      let last: Generation | undefined;
      for (let round = 0; round < tries; round += 1) {
        const decoding = round === 0 ? ({ kind: 'greedy' } as const) : ({ kind: 'sample', seed: deriveSeed(text, round) } as const);
        const outcome = await model.generate({ prompt: [{ from: 'user', text }], stop: [], maxTokens, decoding }, signal);
        signal.throwIfAborted();
        if (!outcome.ok) throw unavailable(name, outcome.failure);
        last = outcome.generation;
        const found = parseVerdict(last.text);
        if (found !== undefined) return { ...found, tries: round + 1, by: byOf(last) };
      }
      return {
        ...{ verdict: 'invalid', reason: last?.text.slice(0, REASON_CHARS) ?? '', tries },
        ...(last === undefined ? {} : { by: byOf(last) }),
      };
    },
  };
}

const byOf = ({ servedAs = '', spans }: Generation): NonNullable<JudgeVerdict['by']> => ({
  servedAs,
  version: spans.at(-1)?.version ?? -1,
});

const unavailable = (name: string, { fatal, message }: GenerationFailure): PlatformError =>
  new PlatformError(fatal ? 'MODEL_REFUSED' : 'MODEL_UNAVAILABLE', `judging answers with ${name}: ${message}`);

/** The verdict in a reply: its last JSON object that has one. Undefined if there is none. */
export function parseVerdict(text: string): (Pick<JudgeVerdict, 'reason'> & { readonly verdict: 'correct' | 'incorrect' }) | undefined {
  for (let start = text.lastIndexOf('{'); start >= 0; start = start === 0 ? -1 : text.lastIndexOf('{', start - 1)) {
    const fields = objectAt(text, start);
    const judgement = fields?.['judgement'];
    if (typeof judgement !== 'string') continue;
    const verdict = judgement.trim().toLowerCase();
    if (verdict !== 'correct' && verdict !== 'incorrect') return undefined;
    const { rationale } = fields ?? {};
    return { verdict, reason: typeof rationale === 'string' ? rationale.slice(0, REASON_CHARS) : '' };
  }
  return undefined;
}

/** The JSON object that begins at `start`; undefined if there is none. */
function objectAt(text: string, start: number): Readonly<Record<string, unknown>> | undefined {
  for (let end = text.lastIndexOf('}'); end > start; end = text.lastIndexOf('}', end - 1)) {
    try {
      return JSON.parse(text.slice(start, end + 1)) as Readonly<Record<string, unknown>>;
    } catch {
      // try the previous closing brace
    }
  }
  return undefined;
}
