// Grows seed questions into harder ones. Walks may run concurrently, but their results are taken in order, so that the same seed gives the
// same questions, rejections and report at any speed. Duplicate questions count once, at their first occurrence. Only the words of accepted
// questions stay in memory; a crash loses what was not handed over, and the same seed reproduces it. When a writer fails, no new walk
// starts, running walks finish, all results are handed over, and then the failure is thrown.
import { setMaxListeners } from 'node:events';
import type { QuestionAccepted, QuestionRejected } from '../../../schemas/generated/events.ts';
import { isPlatformError, PlatformError } from '../../../streams/core/errors.ts';
import { createRandom, deriveSeed } from '../../../streams/core/random.ts';
import { questionIdOf } from '../question-id.ts';
import type { Draft, QuestionWriter } from './port.ts';
import { createAccount } from './report.ts';
import type { SynthesisTally, SynthesisReport } from './report.ts';
import { spaced } from './clause.ts';
import { walk } from './walk.ts';
import type { QuestionCandidate, WalkEnd, WalkOptions } from './walk.ts';

export interface SynthesisOptions extends Omit<WalkOptions, 'random'> {
  readonly dataset: string;
  readonly seed: number;
  /** Maximum number of seed questions. */
  readonly count: number;
  /** Walks per seed question. */
  readonly variants: number;
  /** Concurrent walks. */
  readonly concurrency: number;
  /** Share of accepted questions to draw for human review. */
  readonly reviewShare: number;
  /** UTC microseconds; used in every event. */
  readonly occurredAt: number;
  readonly producer: string;
  readonly now: () => number;
  /** Receives the results of one walk; the next walks wait for it. */
  readonly take: (made: SynthesizedQuestions) => Promise<void>;
  readonly onProgress?: (progress: { readonly walks: number; readonly accepted: number; readonly rejected: number }) => void;
}

export interface SynthesizedQuestions {
  readonly accepted: readonly QuestionAccepted[];
  readonly rejected: readonly QuestionRejected[];
}

interface SeedJob<S> {
  readonly at: number;
  readonly seed: Draft<S>;
  readonly end: Promise<WalkEnd<S>>;
}

class Synthesis<S> {
  readonly #writer: QuestionWriter<S>;
  readonly #options: SynthesisOptions;
  readonly #account: SynthesisTally = createAccount();
  readonly #said = new Set<string>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #failure: { readonly error: unknown } | undefined;
  #accepted = 0;
  #rejected = 0;

  constructor(writer: QuestionWriter<S>, options: SynthesisOptions) {
    this.#writer = writer;
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    // every running walk listens to it
    setMaxListeners(0, this.#signal);
  }

  async run(): Promise<SynthesisReport> {
    const { options, began } = { options: this.#options, began: this.#options.now() };
    try {
      const { seeds, walks } = await this.#walks();
      if (this.#failure !== undefined) throw this.#failed(this.#failure.error);
      const { dataset, seed, directSamples, confirmSamples } = options;
      const seconds = (options.now() - began) / 1_000;
      return this.#account.report({
        writer: this.#writer.name,
        dataset,
        seed,
        seeds,
        walks,
        directSamples: directSamples + confirmSamples,
        seconds,
      });
    } finally {
      this.#stop.abort();
    }
  }

  async #walks(): Promise<{ readonly seeds: number; readonly walks: number }> {
    const { count, seed: order, variants, concurrency } = this.#options;
    let [seeds, walks] = [0, 0];
    const running: SeedJob<S>[] = [];
    for await (const seed of this.#writer.seeds(count, order)) {
      if (!this.#goesOn()) break;
      seeds += 1;
      for (let variant = 0; variant < variants && this.#goesOn(); variant += 1) {
        running.push(this.#start(walks, seed));
        walks += 1;
        if (running.length >= concurrency) await this.#finish(running.shift());
      }
    }
    while (running.length > 0) await this.#finish(running.shift());
    return { seeds, walks };
  }

  #goesOn(): boolean {
    return !this.#signal.aborted && this.#failure === undefined;
  }

  /** The same error, plus a note of what is kept. */
  #failed(error: unknown): unknown {
    if (!isPlatformError(error)) return error;
    const kept = `what was made before is kept: ${this.#accepted} accepted, ${this.#rejected} rejected`;
    return new PlatformError(error.code, `${error.message}; ${kept}`, { cause: error });
  }

  #start(at: number, seed: Draft<S>): SeedJob<S> {
    const { injectRounds, fuzzRounds, tries, directSamples, maxDirectShare, confirmSamples } = this.#options;
    const rounds = { injectRounds, fuzzRounds, tries, directSamples, maxDirectShare, confirmSamples };
    const random = createRandom(this.#options.seed, at + 1);
    const end = walk(this.#writer, seed, { ...rounds, signal: this.#signal, random });
    // the consumer of this walk observes the rejection later
    end.catch(() => undefined);
    return { at, seed, end };
  }

  async #finish(job: SeedJob<S> | undefined): Promise<void> {
    if (job === undefined) return;
    const end = await job.end;
    this.#failure ??= end.failure;
    const { accepted, rejected } = this.#made(job.at, end);
    for (const { gates } of [...accepted, ...rejected]) for (const gate of gates) this.#account.gate(gate);
    this.#accepted += accepted.length;
    this.#rejected += rejected.length;
    await this.#options.take({ accepted, rejected });
    this.#options.onProgress?.({ walks: job.at + 1, accepted: this.#accepted, rejected: this.#rejected });
  }

  #made(at: number, { finished, refused }: WalkEnd<S>): SynthesizedQuestions {
    for (const last of [...refused, ...(finished === undefined ? [] : [finished])]) {
      if (last.gates.some(({ gate }) => gate === 'difficulty') && last.directAsked > 0) this.#account.rated(last);
    }
    const rejected = refused.map((candidate, number) => this.#reject(candidate, `${at}-${number}`));
    if (finished === undefined) return { accepted: [], rejected };
    const judged = this.#withoutDuplicate(finished);
    if (judged.gates.at(-1)?.passed === true) return { accepted: [this.#accept(judged)], rejected };
    return { accepted: [], rejected: [...rejected, this.#reject(judged, `${at}-end`)] };
  }

  #withoutDuplicate(candidate: QuestionCandidate<S>): QuestionCandidate<S> {
    const words = [...new Set(spaced(candidate.draft.question).trim().split(' '))].sort().join(' ');
    const passed = !this.#said.has(words);
    this.#said.add(words);
    const detail = passed ? `unlike ${this.#accepted} others` : 'an accepted question has the same words';
    return { ...candidate, gates: [...candidate.gates, { gate: 'not_a_duplicate', passed, detail }] };
  }

  #accept(candidate: QuestionCandidate<S>): QuestionAccepted {
    const event = this.#event(candidate, '');
    const sampled = (deriveSeed(`${this.#options.seed}/${event.question_id}`, 0) % 10_000) / 10_000 < this.#options.reviewShare;
    this.#account.accept({ ...candidate, split: event.split, hops: event.hops, clauses: this.#writer.clauses(candidate.draft) }, sampled);
    return { ...event, drawn_for_review: sampled };
  }

  #reject(candidate: QuestionCandidate<S>, at: string): QuestionRejected {
    this.#account.reject();
    const reason = candidate.gates.filter(({ passed }) => !passed).map(({ gate }) => gate);
    return { ...this.#event(candidate, `/${this.#options.seed}-${at}`), reason: reason.join(', ') };
  }

  #event({ draft, gates, history, directRight, directAsked }: QuestionCandidate<S>, suffix: string): QuestionAccepted {
    const { dataset, occurredAt, producer } = this.#options;
    const id = questionIdOf(dataset, draft.question);
    return {
      event_id: `questions/${dataset}/${id}${suffix}`,
      run_id: '',
      occurred_at: occurredAt,
      producer,
      question_id: id,
      dataset,
      split: draft.split,
      question: draft.question,
      answers: draft.answers,
      aug_answers: draft.augAnswers ?? [],
      hops: this.#writer.hops(draft),
      kind: this.#writer.kind(draft),
      evidence: this.#writer.evidence(draft),
      gates,
      history,
      closed_book_right: directRight,
      closed_book_asked: directAsked,
      drawn_for_review: false,
    };
  }
}

/** Runs a synthesis to its end, or until the signal aborts; the report says how far it got. */
export const synthesize = <S>(writer: QuestionWriter<S>, options: SynthesisOptions): Promise<SynthesisReport> =>
  new Synthesis(writer, options).run();
