// One seed question growing: rounds of injection and fuzzing, each candidate through the gates. A candidate that a gate
// refuses is kept with its reason and the walk goes on from the draft before; the walk ends when its rounds are used up,
// when it may leave, or when its writer fails, and its last draft is accepted or refused for good. All chance comes from one seeded sequence.
import type { Edit, Gate } from '../../../schemas/generated/events.ts';
import type { DirectAnswer, Draft, GateName, QuestionWriter, Verdict } from './port.ts';

export interface WalkOptions {
  readonly injectRounds: number;
  readonly fuzzRounds: number;
  /** Tries of one round before it is given up. */
  readonly tries: number;
  /** Closed-book answers to each candidate. */
  readonly directSamples: number;
  /** Share of right closed-book answers above which a question is too easy. */
  readonly maxDirectShare: number;
  /** Fresh closed-book answers to a last draft; with none, those that its walk saw decide. */
  readonly confirmSamples: number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** A candidate with everything that happened to it. */
export interface Candidate<S> {
  readonly draft: Draft<S>;
  readonly gates: readonly Gate[];
  readonly history: readonly Edit[];
  readonly injections: number;
  readonly fuzzes: number;
  /** Right closed-book answers, of `directAsked`; -1 when a gate before refused it. */
  readonly directRight: number;
  readonly directAsked: number;
}

export interface WalkEnd<S> {
  /** Passed every gate that looks at it alone. */
  readonly finished: Candidate<S> | undefined;
  readonly refused: readonly Candidate<S>[];
  /** What its writer threw, unless the walk was told to end. */
  readonly failure?: { readonly error: unknown };
}

/** Chance to leave when the closed book has no answer any more. */
const LEAVE = 0.1;

interface Judged<S> {
  readonly candidate: Candidate<S>;
  readonly ok: boolean;
}

interface Edge<S> {
  readonly before: Draft<S> | undefined;
  readonly draft: Draft<S>;
  readonly history: readonly Edit[];
  readonly injections: number;
  readonly fuzzes: number;
}

/** Rounds that are left. */
interface Left {
  inject: number;
  fuzz: number;
}

/** A refusal when nobody can tell how hard a question is. */
function unjudgedIn(answers: readonly DirectAnswer[]): Verdict | undefined {
  const reasons = answers.flatMap(({ unjudged }) => unjudged ?? []);
  return reasons[0] === undefined ? undefined : { passed: false, detail: `${reasons.length} of ${answers.length} answers: ${reasons[0]}` };
}

class Walk<S> {
  readonly #writer: QuestionWriter<S>;
  readonly #options: WalkOptions;
  readonly #refused: Candidate<S>[] = [];
  /** The last candidate that passed. */
  #current: Candidate<S> | undefined;

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
      // what would still have to be asked cannot be
      const isWhole = last !== undefined && this.#options.confirmSamples === 0 && this.#writer.isComplete(last.draft);
      const finished = isWhole ? await this.#end(last) : undefined;
      return { finished, refused: this.#refused, ...(this.#options.signal.aborted ? {} : { failure: { error } }) };
    }
  }

  /** Undefined when the seed is no good. */
  async #grow(seed: Draft<S>): Promise<Candidate<S> | undefined> {
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
      // what could not be blurred may be once there is more of it
      if (action === 'inject' || next !== undefined || left.inject === 0) left[action] -= 1;
      fuzzable = action === 'inject' || next !== undefined;
      current = next ?? current;
    }
    return current;
  }

  /** The writer's choice where it has one. */
  async #next({ draft, injections, fuzzes }: Candidate<S>, left: Left, fuzzable: boolean): Promise<'inject' | 'fuzz'> {
    const { random, signal } = this.#options;
    const chooses = left.inject > 0 && left.fuzz > 0 && (fuzzable || injections + fuzzes === 0);
    const chosen = chooses ? await this.#writer.choose?.(draft, { left: { ...left }, random, signal }) : undefined;
    return chosen ?? this.#chooses(left, fuzzable);
  }

  /** Facts come first more often than not: a detail can only go when others are enough. */
  #chooses(left: Left, fuzzable: boolean): 'inject' | 'fuzz' {
    if (left.inject === 0 || left.fuzz === 0) return left.inject === 0 ? 'fuzz' : 'inject';
    if (!fuzzable || left.inject === this.#options.injectRounds) return 'inject';
    return this.#options.random() * (2 * left.inject + left.fuzz) < 2 * left.inject ? 'inject' : 'fuzz';
  }

  #leaves({ injections, fuzzes, directRight, draft }: Candidate<S>): boolean {
    if (directRight !== 0 || injections < 3 || fuzzes < 1 || !this.#writer.isComplete(draft)) return false;
    return this.#options.random() < LEAVE;
  }

  /** Undefined when no try passed. */
  async #round(current: Candidate<S>, action: keyof Left, left: number): Promise<Candidate<S> | undefined> {
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

  /** Asks one gate after the other, up to the first that refuses. */
  async #judge({ before, ...edge }: Edge<S>): Promise<Judged<S>> {
    const { draft } = edge;
    const { signal, random, directSamples: samples } = this.#options;
    const writer = this.#writer;
    const gates: Gate[] = [];
    const end = (ok: boolean, directRight: number): Judged<S> => ({
      ok,
      candidate: { ...edge, gates, directRight, directAsked: directRight < 0 ? 0 : samples },
    });
    const asked = (gate: GateName, { passed, detail }: Verdict): boolean => {
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

  /** The last draft, unless it is not a question of its own yet or too easy. */
  async #end(last: Candidate<S>): Promise<Candidate<S> | undefined> {
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

  /** With the verdict of the gate difficulty. A draft that was only lucky in its walk is found out by fresh answers. */
  async #rate(last: Candidate<S>): Promise<Candidate<S>> {
    const { directSamples, maxDirectShare, confirmSamples, random, signal } = this.#options;
    const difficulty = ({ passed, detail }: Verdict): Gate => ({ gate: 'difficulty', passed, detail });
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

const isTooEasy = ({ directRight, directAsked }: Candidate<unknown>, { maxDirectShare }: Threshold): boolean =>
  directRight / Math.max(1, directAsked) > maxDirectShare;

/** Chance that a question is asked again and then answered more often than it may be, at most. */
const DOUBT = 0.001;

/** Whether another `directSamples` answers would stay within the threshold almost always, by the rate of those that there are. */
function confirmed({ directRight, directAsked }: Candidate<unknown>, { directSamples, maxDirectShare }: Threshold): Verdict {
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
