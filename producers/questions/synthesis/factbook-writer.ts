// The writer that needs no model: its facts are the country profiles, and it checks every claim of uniqueness by querying them. No IO
// except reading the profiles, no clock; the same random draws give the same questions.
import type { Evidence } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { createRandom, shuffled } from '../../../streams/core/random.ts';
import { heldOut } from '../../../streams/questions/order.ts';
import { normalizeAnswer } from '../../../streams/reward/normalise.ts';
import { factbookProfiles, fieldOf } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';
import { attributes, valuesOf } from '../attributes.ts';
import { countries } from '../chains.ts';
import { spaced } from './clause.ts';
import type { CountryDescription } from './clause.ts';
import { recall } from './closed-book.ts';
import { clausesIn, countriesIn, describe, labelOf, namedIn } from './description.ts';
import { blurDetail, injectFact, relationsIn } from './factbook-edits.ts';
import type { Changed, Choosing } from './factbook-edits.ts';
import {
  alsoRight,
  faultsOf,
  isLasting,
  isSearchable,
  misreadIn,
  needless,
  outdatedIn,
  repeatedIn,
  rivalsIn,
  sourceOf,
  TIMELY_SINCE,
} from './factbook-gates.ts';
import type { AskableAttribute, FactbookDraft, FactbookState } from './factbook-gates.ts';
import { solve } from './fitting.ts';
import type { Draft, Edited, QuestionWriter, GateVerdict } from './port.ts';

const HELD_OUT_SHARE = 0.2;

/** Probability that an edit is checked before it is proposed, and the maximum number of proposals to try. */
const CARE = 0.75;
const PROPOSALS = 24;

/** Finding the country that the question starts from, following a relation, and reading the requested field. */
const MIN_LOOKUPS = 3;

const asking = attributes.filter((attribute): attribute is AskableAttribute => attribute.ask !== undefined);

/** Fields that list several items. */
const LISTS: ReadonlySet<string> = new Set([
  ...['capital', 'internet_code', 'adjective', 'local_long_form', 'local_short_form', 'former_name', 'government', 'symbol', 'seaport'],
]);

/** Everything that the requested field names, including what cannot be an answer in that form. */
function answersOf(profile: Profile, ask: AskableAttribute): readonly string[] {
  const text = fieldOf(profile, ask.label) ?? '';
  if (!LISTS.has(ask.key)) return ask.values(text);
  const listed = text
    .replace(/\s*\([^()]*\)/g, '')
    .replace(/[;:] ?(?:note|national colors?)\b.*$/, '')
    .split(/[,;/]| or /)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return listed.length > 1 ? listed : valuesOf(profile, ask);
}

function draftOf(state: FactbookState, split: FactbookDraft['split']): FactbookDraft {
  return {
    state,
    split,
    question: state.ask.ask(describe(state.description)),
    answers: answersOf(state.end, state.ask),
  };
}

function edited(draft: FactbookDraft, changed: Changed | undefined): Edited<FactbookState> | undefined {
  if (changed === undefined) return undefined;
  return { draft: draftOf({ ...draft.state, description: changed.description }, draft.split), detail: changed.detail };
}

function evidenceOf({ state }: FactbookDraft): readonly Evidence[] {
  const fact = (profile: Profile, label: string): Evidence => ({
    url: profile.url,
    title: profile.title,
    fact: `${label}: ${fieldOf(profile, label) ?? ''}`,
  });
  const facts = clausesIn(state.description).flatMap(({ clause, of }) => {
    const source = sourceOf(clause, of);
    return source === undefined ? [] : [fact(source, labelOf(clause))];
  });
  return [...facts.reverse(), fact(state.end, state.ask.label)];
}

const pathOf = (description: CountryDescription): readonly string[] =>
  description.kind === 'name'
    ? []
    : description.clauses.flatMap((clause) => (clause.kind === 'related' ? [...pathOf(clause.to), clause.relation.key] : []));

const verdict = (faults: readonly string[], good: string): Promise<GateVerdict> =>
  Promise.resolve(faults.length === 0 ? { passed: true, detail: good } : { passed: false, detail: faults.join('; ') });

const wordsOf = (question: string): string => spaced(question).trim();

/** The drafts that ask these questions. Throws QUESTIONS_INVALID if the writer does not know one of them. */
function chosen(drafts: readonly FactbookDraft[], wanted: readonly string[]): readonly FactbookDraft[] {
  const known = new Set(drafts.map(({ question }) => wordsOf(question)));
  const strange = wanted.filter((question) => !known.has(wordsOf(question)));
  if (strange.length > 0) {
    const shown = strange.slice(0, 5).map((question) => `"${question.slice(0, 200)}"`);
    throw new PlatformError(
      'QUESTIONS_INVALID',
      `making questions out of the factbook: ${strange.length} of ${wanted.length} seed questions ask for no field of a profile by its name: ${shown.join('; ')}; a language model takes any (--writer llm)`,
    );
  }
  const words = new Set(wanted.map(wordsOf));
  return drafts.filter(({ question }) => words.has(wordsOf(question)));
}

type Propose = (choosing: Choosing) => Changed | undefined;

class FactbookWriter implements QuestionWriter<FactbookState> {
  readonly name = 'factbook';
  readonly #wanted: readonly string[] | undefined;
  #heldOut: ReadonlySet<string> = new Set();

  constructor(wanted?: readonly string[]) {
    this.#wanted = wanted;
  }

  seeds(count: number, seed: number): readonly FactbookDraft[] {
    this.#heldOut = heldOut(
      seed,
      countries().map(({ code }) => code),
      HELD_OUT_SHARE,
    );
    // questions about office holders are allowed on request; their gate reports the problem
    const asked = this.#wanted === undefined ? asking.filter(isLasting) : asking;
    const all = countries().flatMap((end) => asked.filter((ask) => valuesOf(end, ask).length === 1).map((ask) => ({ end, ask })));
    const drafts = shuffled(all, createRandom(seed)).map(({ end, ask }) =>
      draftOf({ end, ask, description: { kind: 'name', profile: end } }, this.#heldOut.has(end.code) ? 'heldout' : 'train'),
    );
    return (this.#wanted === undefined ? drafts : chosen(drafts, this.#wanted)).slice(0, count);
  }

  inject(draft: FactbookDraft, { random, left }: { random: () => number; left: number }): Promise<Edited<FactbookState> | undefined> {
    return this.#choose(draft, random, (choosing) => {
      const first = injectFact(draft.state.description, left, choosing);
      // a first edit that leaves nothing to search for is replaced once
      return first === undefined || isSearchable(first.description) ? first : injectFact(draft.state.description, left, choosing);
    });
  }

  fuzz(draft: FactbookDraft, { random }: { random: () => number }): Promise<Edited<FactbookState> | undefined> {
    return this.#choose(draft, random, () => blurDetail(draft.state.description, random));
  }

  /** Usually the first of several edits that seems to pass; otherwise the first edit. */
  #choose(draft: FactbookDraft, random: () => number, propose: Propose): Promise<Edited<FactbookState> | undefined> {
    const careful = random() < CARE;
    const suits = (profile: Profile): boolean => !careful || this.#isOf(draft.split, profile);
    let chosen: Changed | undefined;
    for (let made = 0; made < (careful ? PROPOSALS : 1); made += 1) {
      chosen = propose({ random, suits }) ?? chosen;
      if (chosen !== undefined && this.#mayPass(draft, chosen.description)) break;
    }
    return Promise.resolve(edited(draft, chosen));
  }

  #mayPass(draft: FactbookDraft, description: CountryDescription): boolean {
    if (rivalsIn(description).length > 0 || this.#across(draft, description).length > 0 || outdatedIn(description).length > 0) return false;
    const changed = { state: { ...draft.state, description }, answers: draft.answers };
    return needless(changed).length === 0 && misreadIn(changed).length === 0;
  }

  #across({ split }: FactbookDraft, description: CountryDescription): readonly Profile[] {
    return countriesIn(description).filter((profile) => !this.#isOf(split, profile));
  }

  #isOf(split: FactbookDraft['split'], { code }: Profile): boolean {
    return this.#heldOut.has(code) === (split === 'heldout');
  }

  isComplete({ state }: Pick<FactbookDraft, 'state'>): boolean {
    return namedIn(state.description).length === 0 && this.hops({ state }) >= MIN_LOOKUPS;
  }

  wellFormed(draft: FactbookDraft): Promise<GateVerdict> {
    return verdict(faultsOf(draft), 'one question with one answer that it does not tell');
  }

  timely(draft: FactbookDraft): Promise<GateVerdict> {
    return verdict(
      outdatedIn(draft.state.description).concat(isLasting(draft.state.ask) ? [] : [`it asks for whoever holds an office`]),
      `what changes with time is of a year that is named, ${TIMELY_SINCE} or later`,
    );
  }

  newInformation(draft: FactbookDraft, before: FactbookDraft): Promise<GateVerdict> {
    return verdict(repeatedIn(draft, before), 'every fact is in it once');
  }

  splitDisjoint(draft: FactbookDraft): Promise<GateVerdict> {
    const across = this.#across(draft, draft.state.description);
    return verdict(
      across.map(({ title }) => `${title} is of the other split`),
      `every country is of ${draft.split}`,
    );
  }

  answerDirectly(draft: FactbookDraft, { samples, random }: { samples: number; random: () => number }) {
    const { ask, end } = draft.state;
    const gold = new Set(draft.answers.map(normalizeAnswer));
    const recalled = recall(draft.question, samples, random);
    return Promise.resolve(
      recalled.map((profile) => {
        const answer = (profile === undefined ? undefined : valuesOf(profile, ask)[0]) ?? '';
        return { answer, right: profile === end || gold.has(normalizeAnswer(answer)) };
      }),
    );
  }

  unique(draft: FactbookDraft, wrong: readonly string[]): Promise<GateVerdict> {
    const { state } = draft;
    const rivals = rivalsIn(state.description);
    const [meant] = solve(state.description);
    const faults = [
      ...rivals,
      ...(meant === state.end || rivals.length > 0 ? [] : [`it fits ${meant?.title ?? 'nothing'}, not ${state.end.title}`]),
      ...misreadIn(draft),
      ...alsoRight(draft, wrong).map((value) => `${value} is right as well`),
    ];
    return verdict(faults, `every description fits one of ${factbookProfiles().length} profiles; ${wrong.length} wrong answers are wrong`);
  }

  everyClauseNeeded(draft: FactbookDraft): Promise<GateVerdict> {
    const count = clausesIn(draft.state.description).length;
    return verdict(
      needless(draft).map((clause) => `the answer can be found without "${clause}"`),
      `without any of ${count} clauses several answers are left`,
    );
  }

  evidence(draft: FactbookDraft): readonly Evidence[] {
    return evidenceOf(draft);
  }

  kind({ state }: FactbookDraft): string {
    return [...pathOf(state.description), state.ask.key].join('>');
  }

  /** One for finding the country that the question starts from, one per relation, and one for reading the requested field. */
  hops({ state }: Pick<FactbookDraft, 'state'>): number {
    return 2 + relationsIn(state.description);
  }

  clauses({ state }: FactbookDraft): number {
    return clausesIn(state.description).length;
  }
}

/** A writer with its own set of held-out countries, which `seeds` draws. It grows the seed questions in `wanted`; by default all. */
export const createFactbookWriter = (wanted?: readonly string[]): QuestionWriter<FactbookState> => new FactbookWriter(wanted);

/** The seed questions of this writer, each about one field of one country. */
export const createFactbookSeeds = (count: number, seed: number): readonly Draft<unknown>[] => new FactbookWriter().seeds(count, seed);
