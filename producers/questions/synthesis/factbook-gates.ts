// The checks behind the gates of the factbook writer: the faults of a draft and of its description, one text each.
import { factbookProfiles, fieldOf } from '../../factbook/profiles.ts';
import type { Profile } from '../../factbook/profiles.ts';
import { normalizeAnswer } from '../../../streams/reward/normalise.ts';
import { valuesOf } from '../attributes.ts';
import type { Attribute } from '../attributes.ts';
import { namesOf } from '../gates.ts';
import { spaced } from './clause.ts';
import type { Clause, CountryDescription } from './clause.ts';
import { clausesIn, countriesIn, describe, labelOf, namedIn } from './description.ts';
import { needlessIn, solve } from './fitting.ts';
import type { Draft } from './port.ts';
import { otherReadings } from './second-readings.ts';

export type AskableAttribute = Attribute & { readonly ask: (who: string) => string };

export interface FactbookState {
  readonly description: CountryDescription;
  readonly ask: AskableAttribute;
  /** The country that the question asks about. */
  readonly end: Profile;
}

export type FactbookDraft = Draft<FactbookState>;

const MAX_QUESTION_CHARS = 600;
/** Estimates from before this year are outdated. */
export const TIMELY_SINCE = 2010;

/** Attributes whose value is an office holder. */
const OFFICES: ReadonlySet<string> = new Set(['chief_of_state', 'head_of_government']);
export const isLasting = ({ key }: Attribute): boolean => !OFFICES.has(key);

const mentions = (text: string, part: string): boolean => spaced(part).trim() !== '' && spaced(text).includes(spaced(part));

const ALIAS = /\b(?:often|also|formerly|sometimes) (?:called|known)\b/i;

/** Whether a search can find the country that a question starts from: bounds and first letters match every page. */
export function isSearchable(description: CountryDescription): boolean {
  if (description.kind === 'name') return true;
  const lead = description.clauses.find((clause) => clause.kind === 'related');
  if (lead !== undefined) return isSearchable(lead.to);
  return description.clauses.some(({ kind }) => kind === 'says' || kind === 'contains' || kind === 'figure');
}

/** The faults in the wording of a question. */
export function faultsOf({ question, answers, state }: FactbookDraft): readonly string[] {
  const words = ` ${normalizeAnswer(question)} `;
  const named = new Set(namedIn(state.description));
  const hidden = countriesIn(state.description).filter((profile) => !named.has(profile));
  const told = hidden.flatMap(namesOf).filter((name) => mentions(question, name));
  return [
    ...(answers.length === 1 ? [] : [`${state.ask.label} of ${state.end.title} names ${answers.length}`]),
    ...(answers.some((answer) => /^(?:no|none|not|multiple|various|unknown)\b/i.test(answer)) ? ['the answer names nothing'] : []),
    ...(answers.some((answer) => mentions(question, answer) || words.includes(` ${normalizeAnswer(answer)} `))
      ? ['the answer is in the question']
      : []),
    ...(ALIAS.test(fieldOf(state.end, state.ask.label) ?? '') ? ['what it asks for has another name'] : []),
    ...[...new Set(told)].map((name) => `${name} is named`),
    ...(question.length > MAX_QUESTION_CHARS ? [`${question.length} characters are too many`] : []),
    ...(/^\p{Lu}.*[^?]\?$/u.test(question) && !/\s{2}|undefined/.test(question) ? [] : ['it is not one question']),
  ];
}

/** The profile whose field a clause is based on. */
export function sourceOf(clause: Clause, of: Profile | undefined): Profile | undefined {
  if (clause.kind !== 'related' || clause.relation.own) return of;
  const [one, ...more] = solve(clause.to);
  return more.length === 0 ? one : undefined;
}

/** Why the content of a clause may be outdated. */
function outdated(clause: Clause, source: Profile | undefined): string | undefined {
  const where = `${labelOf(clause)} of ${source?.title ?? 'nobody'}`;
  if ('attribute' in clause) {
    return isLasting(clause.attribute) ? undefined : `${where} is whoever holds the office`;
  }
  if (clause.kind === 'related' ? !clause.relation.dated : clause.quantity.lasting === true) return undefined;
  if (clause.year === undefined) return `${where} changes with time, and no year is named`;
  return clause.year < TIMELY_SINCE ? `${where} is of ${clause.year}` : undefined;
}

/** Everything in a description that changes over time and is undated or old. */
export const outdatedIn = (description: CountryDescription): readonly string[] =>
  clausesIn(description).flatMap(({ clause, of }) => outdated(clause, sourceOf(clause, of)) ?? []);

/** The words of a clause's value, if it has one. */
const valueOf = (clause: Clause): string => (clause.kind === 'says' ? clause.value : clause.kind === 'contains' ? clause.word : '');

export function repeatedIn(draft: FactbookDraft, before: FactbookDraft): readonly string[] {
  const earlier = clausesIn(before.state.description);
  const repeated: string[] = [];
  const seen = new Set<string>();
  for (const { clause, of } of clausesIn(draft.state.description)) {
    const source = sourceOf(clause, of);
    const fact = `${labelOf(clause)} of ${source?.title ?? ''}`;
    if (seen.has(fact)) repeated.push(`${fact} is in it twice`);
    seen.add(fact);
    const isNew = earlier.every((one) => one.clause !== clause && labelOf(one.clause) !== labelOf(clause));
    if (isNew && mentions(before.question, valueOf(clause))) repeated.push(`it says ${valueOf(clause)} already`);
  }
  if (seen.has(`${draft.state.ask.label} of ${draft.state.end.title}`))
    repeated.push(`what it asks for, ${draft.state.ask.label}, is in it`);
  if (draft.question === before.question) repeated.push('the words are the same');
  return repeated;
}

/** Countries that a nested description fits besides the intended one. */
export function rivalsIn(description: CountryDescription): readonly string[] {
  if (description.kind === 'name') return [];
  const inner = description.clauses.flatMap((clause) => (clause.kind === 'related' ? rivalsIn(clause.to) : []));
  const fitting = solve(description);
  if (fitting.length === 1) return inner;
  const some = fitting.slice(0, 4).map(({ title }) => title);
  return [...inner, `"${describe(description)}" fits ${fitting.length}: ${some.join(', ')}`];
}

/** Wrong answers that are true for a matching country. */
export function alsoRight({ state, answers }: FactbookDraft, wrong: readonly string[]): readonly string[] {
  const fitting = solve(state.description);
  const gold = new Set(answers.map(normalizeAnswer));
  const given = new Set(wrong.map(normalizeAnswer).filter((answer) => answer !== '' && !gold.has(answer)));
  return factbookProfiles()
    .filter((profile) => fitting.includes(profile))
    .flatMap((profile) => valuesOf(profile, state.ask))
    .filter((value) => given.has(normalizeAnswer(value)));
}

/** Redundant clauses: without one of them, the description still has only one answer. */
export function needless({ state, answers }: Pick<FactbookDraft, 'state' | 'answers'>): readonly string[] {
  const { ask, description } = state;
  const isOther = (profile: Profile): boolean => {
    const text = fieldOf(profile, ask.label);
    return text !== undefined && valuesOf(profile, ask).length === 1 && !answers.some((answer) => mentions(text, answer));
  };
  return needlessIn(description, isOther).map((clause) => describe({ kind: 'clauses', clauses: [clause] }));
}

/** Countries with another answer that another reading of the question fits. */
export function misreadIn({ state, answers }: Pick<FactbookDraft, 'state' | 'answers'>): readonly string[] {
  return otherReadings(state.description, state.end)
    .filter((profile) => !answers.some((answer) => mentions(fieldOf(profile, state.ask.label) ?? answer, answer)))
    .map(({ title }) => `it can be read to mean ${title}`);
}
