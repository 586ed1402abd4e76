// Grows one seed question: rounds of injection and fuzzing, with each candidate passing through the gates. A rejected candidate is kept
// with its reason, and the walk continues from the previous draft. The walk ends when its rounds are used up, when it may leave early, or
// when its writer fails; its last draft is then accepted or rejected for good. All randomness comes from one seeded sequence.
import type { Edit, Gate } from '../../../schemas/generated/events.ts';
import type { DirectAnswer, Draft, GateName, QuestionWriter, GateVerdict } from './port.ts';

export interface WalkOptions {
  readonly injectRounds: number;
  readonly fuzzRounds: number;
  /** Attempts per round. */
  readonly tries: number;
  /** Closed-book answers per candidate. */
  readonly directSamples: number;
  /** A question with a larger share of correct closed-book answers is too easy. */
  readonly maxDirectShare: number;
  /** Number of fresh closed-book answers to the last draft; if 0, the answers from the walk decide. */
  readonly confirmSamples: number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** A candidate with its history. */
export interface QuestionCandidate<S> {
  readonly draft: Draft<S>;
  readonly gates: readonly Gate[];
  readonly history: readonly Edit[];
  readonly injections: number;
  readonly fuzzes: number;
  /** Correct closed-book answers, out of `directAsked`; -1 when an earlier gate rejected it. */
  readonly directRight: number;
  readonly directAsked: number;
}

export interface WalkEnd<S> {
  /** Passed every gate that judges a single draft. */
  readonly finished: QuestionCandidate<S> | undefined;
  readonly refused: readonly QuestionCandidate<S>[];
  /** The error that the writer threw, unless the walk was aborted. */
  readonly failure?: { readonly error: unknown };
}

/** Probability of leaving early when no closed-book answer is correct anymore. */
const LEAVE = 0.1;

interface JudgedCandidate<S> {
  readonly candidate: QuestionCandidate<S>;
  readonly ok: boolean;
}

interface Edge<S> {
  readonly before: Draft<S> | undefined;
  readonly draft: Draft<S>;
  readonly history: readonly Edit[];
  readonly injections: number;
  readonly fuzzes: number;
}

/** Remaining rounds. */
interface Left {
  inject: number;
  fuzz: number;
}

/** A rejection when the difficulty of a question cannot be judged. */
function unjudgedIn(answers: readonly DirectAnswer[]): GateVerdict | undefined {
  const reasons = answers.flatMap(({ unjudged }) => unjudged ?? []);
  return reasons[0] === undefined ? undefined : { passed: false, detail: `${reasons.length} of ${answers.length} answers: ${reasons[0]}` };
}

class Walk<S> {
  readonly #writer: QuestionWriter<S>;
  readonly #options: WalkOptions;
  readonly #refused: QuestionCandidate<S>[] = [];
  /** The last candidate that passed. */
  #current: QuestionCandidate<S> | undefined;

  constructor(writer: QuestionWriter<S>, options: WalkOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  async run(seed: Draft<S>): Promise<WalkEnd<S>> {
    try {
      const last = await this.#grow(seed);
      return { finished: last === undefined ? undefined : await this.#end(last), refused: this.#refused };
    } catch (error) {
      const last = this.#current;
      // confirmation would need requests that can no longer be made
      const isWhole = last !== undefined && this.#options.confirmSamples === 0 && this.#writer.isComplete(last.draft);
      const finished = isWhole ? await this.#end(last) : undefined;
      return { finished, refused: this.#refused, ...(this.#options.signal.aborted ? {} : { failure: { error } }) };
    }
  }

  /** Undefined when the seed is unusable. */
  async #grow(seed: Draft<S>): Promise<QuestionCandidate<S> | undefined> {
    const edit: Edit = { round: 0, action: 'seed', before: '', after: seed.question, detail: seed.answers.join(' | ') };
    const first = await this.#judge({ before: undefined, draft: seed, history: [edit], injections: 0, fuzzes: 0 });
    if (!first.ok) {
      this.#refused.push(first.candidate);
      return undefined;
    }
    let current = first.candidate;
    const left = { inject: this.#options.injectRounds, fuzz: this.#options.fuzzRounds };
    let fuzzable = false;
    while (left.inject + left.fuzz > 0 && !this.#leaves(current) && !this.#options.signal.aborted) {
      const action = await this.#next(current, left, fuzzable);
      const next = await this.#round(current, action, left.inject);
      // blurring may become possible after the next injection
      if (action === 'inject' || next !== undefined || left.inject === 0) left[action] -= 1;
      fuzzable = action === 'inject' || next !== undefined;
      current = next ?? current;
    }
    return current;
  }

  /** The writer's choice if it makes one. */
  async #next({ draft, injections, fuzzes }: QuestionCandidate<S>, left: Left, fuzzable: boolean): Promise<'inject' | 'fuzz'> {
    const { random, signal } = this.#options;
    const chooses = left.inject > 0 && left.fuzz > 0 && (fuzzable || injections + fuzzes === 0);
    const chosen = chooses ? await this.#writer.choose?.(draft, { left: { ...left }, random, signal }) : undefined;
    return chosen ?? this.#chooses(left, fuzzable);
  }

  /** Prefers injection: a detail can only be blurred when other facts suffice. */
  #chooses(left: Left, fuzzable: boolean): 'inject' | 'fuzz' {
    if (left.inject === 0 || left.fuzz === 0) return left.inject === 0 ? 'fuzz' : 'inject';
    if (!fuzzable || left.inject === this.#options.injectRounds) return 'inject';
    return this.#options.random() * (2 * left.inject + left.fuzz) < 2 * left.inject ? 'inject' : 'fuzz';
  }

  #leaves({ injections, fuzzes, directRight, draft }: QuestionCandidate<S>): boolean {
    if (directRight !== 0 || injections < 3 || fuzzes < 1 || !this.#writer.isComplete(draft)) return false;
    return this.#options.random() < LEAVE;
  }

  /** Undefined when no attempt passed. */
  async #round(current: QuestionCandidate<S>, action: keyof Left, left: number): Promise<QuestionCandidate<S> | undefined> {
    const { random, signal, tries } = this.#options;
    for (let attempt = 0; attempt < tries && !signal.aborted; attempt += 1) {
      const edit = await (action === 'inject'
        ? this.#writer.inject(current.draft, { random, left, signal })
        : this.#writer.fuzz(current.draft, { random, signal }));
      if (edit === undefined) continue;
      const round = current.injections + current.fuzzes + 1;
      const step: Edit = { round, action, before: current.draft.question, after: edit.draft.question, detail: edit.detail };
      const judged = await this.#judge({
        before: current.draft,
        draft: edit.draft,
        history: [...current.history, step],
        injections: current.injections + Number(action === 'inject'),
        fuzzes: current.fuzzes + Number(action === 'fuzz'),
      });
      if (judged.ok) return (this.#current = judged.candidate);
      this.#refused.push(judged.candidate);
    }
    return undefined;
  }

  /** Runs the gates one after the other, up to the first that rejects. */
  async #judge({ before, ...edge }: Edge<S>): Promise<JudgedCandidate<S>> {
    const { draft } = edge;
    const { signal, random, directSamples: samples } = this.#options;
    const writer = this.#writer;
    const gates: Gate[] = [];
    const end = (ok: boolean, directRight: number): JudgedCandidate<S> => ({
      ok,
      candidate: { ...edge, gates, directRight, directAsked: directRight < 0 ? 0 : samples },
    });
    const asked = (gate: GateName, { passed, detail }: GateVerdict): boolean => {
      gates.push({ gate, passed, detail });
      return passed;
    };
    if (!asked('well_formed', await writer.wellFormed(draft, signal))) return end(false, -1);
    if (!asked('timely', await writer.timely(draft, signal))) return end(false, -1);
    if (before !== undefined && !asked('new_information', await writer.newInformation(draft, before, signal))) return end(false, -1);
    if (!asked('every_clause_needed', await writer.everyClauseNeeded(draft, signal))) return end(false, -1);
    const answers = await writer.answerDirectly(draft, { random, signal, samples });
    const unjudged = unjudgedIn(answers);
    if (unjudged !== undefined) return end(asked('difficulty', unjudged), -1);
    const wrong = answers.filter(({ right }) => !right).map(({ answer }) => answer);
    const right = answers.length - wrong.length;
    if (!asked('unique_answer', await writer.unique(draft, wrong, signal))) return end(false, right);
    return end(asked('split_disjoint', await writer.splitDisjoint(draft)), right);
  }

  /** The last draft, unless it is too easy or not yet a question of its own. */
  async #end(last: QuestionCandidate<S>): Promise<QuestionCandidate<S> | undefined> {
    if (!this.#writer.isComplete(last.draft)) {
      const gate: Gate = { gate: 'well_formed', passed: false, detail: 'the rounds ended before it was a question of its own' };
      this.#refused.push({ ...last, gates: [...last.gates.filter((one) => one.gate !== 'well_formed'), gate] });
      return undefined;
    }
    const judged = await this.#rate(last);
    if (judged.gates.at(-1)?.passed === true) return judged;
    this.#refused.push(judged);
    return undefined;
  }

  /** Adds the result of the difficulty gate. Fresh answers expose a draft that was only lucky during its walk. */
  async #rate(last: QuestionCandidate<S>): Promise<QuestionCandidate<S>> {
    const { directSamples, maxDirectShare, confirmSamples, random, signal } = this.#options;
    const difficulty = ({ passed, detail }: GateVerdict): Gate => ({ gate: 'difficulty', passed, detail });
    const isEasy = isTooEasy(last, this.#options);
    if (isEasy || confirmSamples === 0) {
      const right = `${last.directRight} of ${last.directAsked} answers without tools are right; ${maxDirectShare * directSamples} may be`;
      return { ...last, gates: [...last.gates, difficulty({ passed: !isEasy, detail: right })] };
    }
    const answers = await this.#writer.answerDirectly(last.draft, { random, signal, samples: confirmSamples });
    const directRight = last.directRight + answers.filter(({ right }) => right).length;
    const asked = { ...last, directRight, directAsked: last.directAsked + answers.length };
    const verdict = unjudgedIn(answers) ?? confirmed(asked, this.#options);
    return { ...asked, gates: [...last.gates, difficulty(verdict)] };
  }
}

type Threshold = Pick<WalkOptions, 'directSamples' | 'maxDirectShare'>;

const isTooEasy = ({ directRight, directAsked }: QuestionCandidate<unknown>, { maxDirectShare }: Threshold): boolean =>
  directRight / Math.max(1, directAsked) > maxDirectShare;

/** Maximum probability that a question would exceed the threshold if it were asked again. */
const DOUBT = 0.001;

/** Whether another `directSamples` answers would almost always stay within the threshold, given the observed rate. */
function confirmed({ directRight, directAsked }: QuestionCandidate<unknown>, { directSamples, maxDirectShare }: Threshold): GateVerdict {
  const rate = (directRight + 0.5) / (directAsked + 1);
  const allowed = Math.floor(maxDirectShare * directSamples + 1e-9);
  let [within, chance] = [0, (1 - rate) ** directSamples];
  for (let right = 0; right <= allowed; right += 1) {
    within += chance;
    chance *= ((directSamples - right) / (right + 1)) * (rate / (1 - rate));
  }
  const passed = allowed >= directSamples || 1 - within <= DOUBT || directRight === 0;
  return {
    passed,
    detail: `${directRight} of ${directAsked} answers without tools are right; of ${directSamples} more than ${allowed} would be in ${((1 - within) * 100).toFixed(1)} % of the cases`,
  };
}

/** Grows one seed question. */
export const walk = <S>(writer: QuestionWriter<S>, seed: Draft<S>, options: WalkOptions): Promise<WalkEnd<S>> =>
  new Walk(writer, options).run(seed);
