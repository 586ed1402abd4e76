// The writer that needs no model: its facts are the country profiles, and every claim of uniqueness is a query over them.
// No IO beyond the profiles, no clock; the same draws make the same questions.
import type { Evidence } from '../../../schemas/generated/events.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import { createRandom, shuffled } from '../../../streams/core/random.ts';
import { heldOut } from '../../../streams/questions/order.ts';
import { normalizeAnswer } from '../../../streams/reward/normalise.ts';
import { factbookProfiles, fieldOf } from '../../rollouts/tools/factbook-profiles.ts';
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import { attributes, valuesOf } from '../attributes.ts';
import type { Attribute } from '../attributes.ts';
import { countries } from '../chains.ts';
import { namesOf } from '../gates.ts';
import { recall } from './closed-book.ts';
import { clausesIn, countriesIn, describe, labelOf, namedIn, solve, spaced } from './description.ts';
import type { Clause, Description } from './description.ts';
import { blurDetail, injectFact, onlyOne } from './factbook-edits.ts';
import type { Changed } from './factbook-edits.ts';
import type { Draft, Edited, QuestionWriter, Verdict } from './port.ts';

type Asking = Attribute & { readonly ask: (who: string) => string };

export interface FactbookState {
  readonly description: Description;
  readonly ask: Asking;
  /** The country that is asked about. */
  readonly end: Profile;
}

type FactbookDraft = Draft<FactbookState>;

const HELD_OUT_SHARE = 0.2;
const MAX_QUESTION_CHARS = 600;
/** Estimates of an earlier year are out of date. */
const TIMELY_SINCE = 2010;

/** How often an edit is looked at before it is proposed, and how many are then thought of at most. */
const CARE = 0.75;
const PROPOSALS = 8;

const asking = attributes.filter((attribute): attribute is Asking => attribute.ask !== undefined);

/** Fields that list what they name, one after the other. */
const LISTS: ReadonlySet<string> = new Set([
  ...['capital', 'internet_code', 'adjective', 'local_long_form', 'local_short_form', 'former_name', 'government', 'symbol', 'seaport'],
]);

/** Everything that the field asked for names, also what cannot be an answer as it stands there. */
function answersOf(profile: Profile, ask: Asking): readonly string[] {
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

const passed = (detail: string): Verdict => ({ passed: true, detail });
const refused = (detail: string): Verdict => ({ passed: false, detail });

const mentions = (text: string, part: string): boolean => spaced(part).trim() !== '' && spaced(text).includes(spaced(part));

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

/** What is wrong with the words of a question. */
function faultsOf({ question, answers, state }: FactbookDraft): readonly string[] {
  const words = ` ${normalizeAnswer(question)} `;
  const named = new Set(namedIn(state.description));
  const hidden = countriesIn(state.description).filter((profile) => !named.has(profile));
  const told = hidden.flatMap(namesOf).filter((name) => mentions(question, name));
  return [
    ...(answers.length === 1 ? [] : [`${state.ask.label} of ${state.end.title} names ${answers.length}`]),
    ...(answers.some((answer) => /^(?:no|none|not)\b/i.test(answer)) ? ['the answer says that there is none'] : []),
    ...(answers.some((answer) => mentions(question, answer) || words.includes(` ${normalizeAnswer(answer)} `))
      ? ['the answer is in the question']
      : []),
    ...[...new Set(told)].map((name) => `${name} is named`),
    ...(question.length > MAX_QUESTION_CHARS ? [`${question.length} characters are too many`] : []),
    ...(/^\p{Lu}.*[^?]\?$/u.test(question) && !/\s{2}|undefined/.test(question) ? [] : ['it is not one question']),
  ];
}

const ESTIMATED = new Set(['Exports - partners', 'Imports - partners']);
const isEstimate = (clause: Clause): boolean => clause.kind === 'figure' || clause.kind === 'between' || ESTIMATED.has(labelOf(clause));

/** The profile whose field a clause rests on. */
function sourceOf(clause: Clause, of: Profile | undefined): Profile | undefined {
  return clause.kind === 'related' && !clause.relation.own ? onlyOne(clause.to) : of;
}

/** The newest year that the first estimate of a field names. */
function yearOf(profile: Profile, label: string): number | undefined {
  const years = [...(fieldOf(profile, label) ?? '').matchAll(/\((?:[^()]* )?((?:19|20)\d{2})(?: est\.)?\)/g)].map(([, year]) =>
    Number(year),
  );
  return years.length === 0 ? undefined : Math.max(...years);
}

function outdatedIn({ state }: FactbookDraft): readonly string[] {
  return clausesIn(state.description).flatMap(({ clause, of }) => {
    const source = sourceOf(clause, of);
    if (source === undefined || !isEstimate(clause)) return [];
    const year = yearOf(source, labelOf(clause));
    return year !== undefined && year < TIMELY_SINCE ? [`${labelOf(clause)} of ${source.title} is of ${year}`] : [];
  });
}

/** The words of a clause's value, where it has one. */
const valueOf = (clause: Clause): string => (clause.kind === 'says' ? clause.value : '');

function repeatedIn(draft: FactbookDraft, before: FactbookDraft): readonly string[] {
  const earlier = clausesIn(before.state.description);
  const repeated: string[] = [];
  const seen = new Set<string>();
  for (const { clause, of } of clausesIn(draft.state.description)) {
    const source = sourceOf(clause, of);
    const fact = `${labelOf(clause)} of ${source?.title ?? ''}`;
    if (seen.has(fact)) repeated.push(`${fact} is in it twice`);
    seen.add(fact);
    const isNew = earlier.every((one) => one.clause !== clause);
    if (isNew && clause.kind === 'says' && mentions(before.question, valueOf(clause))) repeated.push(`it says ${valueOf(clause)} already`);
  }
  if (seen.has(`${draft.state.ask.label} of ${draft.state.end.title}`))
    repeated.push(`what it asks for, ${draft.state.ask.label}, is in it`);
  if (draft.question === before.question) repeated.push('the words are the same');
  return repeated;
}

/** Countries that a description within this one fits besides the one that is meant. */
function rivalsIn(description: Description): readonly string[] {
  if (description.kind === 'name') return [];
  const inner = description.clauses.flatMap((clause) => (clause.kind === 'related' ? rivalsIn(clause.to) : []));
  const fitting = solve(description);
  if (fitting.length === 1) return inner;
  return [
    ...inner,
    `"${describe(description)}" fits ${fitting.length}: ${fitting
      .slice(0, 4)
      .map(({ title }) => title)
      .join(', ')}`,
  ];
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

const pathOf = (description: Description): readonly string[] =>
  description.kind === 'name'
    ? []
    : description.clauses.flatMap((clause) => (clause.kind === 'related' ? [...pathOf(clause.to), clause.relation.key] : []));

const verdict = (faults: readonly string[], good: string): Promise<Verdict> =>
  Promise.resolve(faults.length === 0 ? passed(good) : refused(faults.join('; ')));

const wordsOf = (question: string): string => spaced(question).trim();

/** The drafts that ask these questions. Throws QUESTIONS_INVALID when there is one that the writer does not know. */
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
    const all = countries().flatMap((end) => asking.filter((ask) => valuesOf(end, ask).length === 1).map((ask) => ({ end, ask })));
    const drafts = shuffled(all, createRandom(seed)).map(({ end, ask }) =>
      draftOf({ end, ask, description: { kind: 'name', profile: end } }, this.#heldOut.has(end.code) ? 'heldout' : 'train'),
    );
    return (this.#wanted === undefined ? drafts : chosen(drafts, this.#wanted)).slice(0, count);
  }

  inject(draft: FactbookDraft, { random, left }: { random: () => number; left: number }): Promise<Edited<FactbookState> | undefined> {
    return this.#choose(draft, random, () => injectFact(draft.state.description, left, random));
  }

  fuzz(draft: FactbookDraft, { random }: { random: () => number }): Promise<Edited<FactbookState> | undefined> {
    return this.#choose(draft, random, () => blurDetail(draft.state.description, random));
  }

  /** Mostly an edit that looks as if it would pass, out of a few; else the first that comes to mind. */
  #choose(draft: FactbookDraft, random: () => number, propose: () => Changed | undefined): Promise<Edited<FactbookState> | undefined> {
    const proposals = random() < CARE ? PROPOSALS : 1;
    let chosen: Changed | undefined;
    for (let made = 0; made < proposals; made += 1) {
      chosen = propose() ?? chosen;
      if (chosen !== undefined && rivalsIn(chosen.description).length === 0 && this.#across(draft, chosen.description).length === 0) break;
    }
    return Promise.resolve(edited(draft, chosen));
  }

  #across({ split }: FactbookDraft, description: Description): readonly Profile[] {
    return countriesIn(description).filter(({ code }) => this.#heldOut.has(code) !== (split === 'heldout'));
  }

  isComplete({ state }: FactbookDraft): boolean {
    return namedIn(state.description).length === 0;
  }

  wellFormed(draft: FactbookDraft): Promise<Verdict> {
    return verdict(faultsOf(draft), 'one question with one answer that it does not tell');
  }

  timely(draft: FactbookDraft): Promise<Verdict> {
    return verdict(outdatedIn(draft), `no estimate is older than ${TIMELY_SINCE}`);
  }

  newInformation(draft: FactbookDraft, before: FactbookDraft): Promise<Verdict> {
    return verdict(repeatedIn(draft, before), 'every fact is in it once');
  }

  splitDisjoint(draft: FactbookDraft): Promise<Verdict> {
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

  unique({ state, answers }: FactbookDraft, wrong: readonly string[]): Promise<Verdict> {
    const rivals = rivalsIn(state.description);
    const fitting = solve(state.description);
    const gold = new Set(answers.map(normalizeAnswer));
    const given = new Set(wrong.map(normalizeAnswer).filter((answer) => answer !== '' && !gold.has(answer)));
    const also = factbookProfiles()
      .filter((profile) => fitting.includes(profile))
      .flatMap((profile) => valuesOf(profile, state.ask))
      .filter((value) => given.has(normalizeAnswer(value)));
    const faults = [
      ...rivals,
      ...(fitting[0] === state.end || rivals.length > 0 ? [] : [`it fits ${fitting[0]?.title ?? 'nothing'}, not ${state.end.title}`]),
      ...also.map((value) => `${value} is right as well`),
    ];
    return verdict(faults, `every description fits one of ${factbookProfiles().length} profiles; ${given.size} wrong answers are wrong`);
  }

  evidence(draft: FactbookDraft): readonly Evidence[] {
    return evidenceOf(draft);
  }

  kind({ state }: FactbookDraft): string {
    return [...pathOf(state.description), state.ask.key].join('>');
  }

  /** As in the built-in set: finding the country is one, asking about it another. */
  hops({ state }: FactbookDraft): number {
    return 2 + pathOf(state.description).length;
  }
}

/** A writer of its own held-out countries, which its first seeds decide. It grows the wanted questions, or all that it has. */
export const createFactbookWriter = (wanted?: readonly string[]): QuestionWriter<FactbookState> => new FactbookWriter(wanted);

/** The seed questions of this writer alone, each about one field of one country. */
export const createFactbookSeeds = (count: number, seed: number): readonly Draft<unknown>[] => new FactbookWriter().seeds(count, seed);
