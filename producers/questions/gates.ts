// The gates that a question must pass. Each gate returns a result with a reason, whether or not the question is accepted.
import type { Gate } from '../../schemas/generated/events.ts';
import { normalizeAnswer } from '../../streams/reward/normalise.ts';
import { factbookProfiles, fieldOf } from '../factbook/profiles.ts';
import type { Profile } from '../factbook/profiles.ts';
import type { Attribute } from './attributes.ts';
import type { Chain } from './chains.ts';

/** A chain with its wording. */
export interface ChainCandidate {
  readonly chain: Chain;
  readonly question: string;
  /** All values of the identifying field and of the requested field. */
  readonly identifiers: readonly string[];
  readonly answers: readonly string[];
}

const spaced = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;

/** Whether `text` contains the words of `part` in that order. */
const mentions = (text: string, part: string): boolean => spaced(part).trim() !== '' && spaced(text).includes(spaced(part));

const holders = new Map<string, number>();
const fieldTexts = new Map<string, readonly string[]>();

/** The words of a field in every profile. */
function textsOf(label: string): readonly string[] {
  const known = fieldTexts.get(label);
  if (known !== undefined) return known;
  const texts = factbookProfiles().map((profile) => spaced(fieldOf(profile, label) ?? ''));
  fieldTexts.set(label, texts);
  return texts;
}

/** How many profiles name the value in the field of the attribute, whatever else the field says. */
function holdersOf(attribute: Attribute, value: string): number {
  const key = `${attribute.label}\n${value}`;
  const known = holders.get(key);
  if (known !== undefined) return known;
  const words = spaced(value);
  const count = words.trim() === '' ? 0 : textsOf(attribute.label).filter((text) => text.includes(words)).length;
  holders.set(key, count);
  return count;
}

const nameForms = ['conventional long form', 'conventional short form'];

/** The English names of a country. */
export function namesOf(profile: Profile): readonly string[] {
  const forms = nameForms.map((form) => fieldOf(profile, `Country name, ${form}`));
  return [...new Set([profile.title, ...forms.filter((name) => name !== undefined && name !== 'none')])].filter(
    (name) => name !== undefined,
  );
}

function uniqueIdentifier({ chain, identifiers }: ChainCandidate): Gate {
  const [value] = identifiers;
  const count = value === undefined ? 0 : holdersOf(chain.identify, value);
  const tie = chain.relation !== undefined && !chain.relation.unique;
  const detail = `${chain.identify.label}: "${value ?? ''}" stands in ${count} profiles${tie ? '; two borders are as long' : ''}`;
  return { gate: 'unique_identifier', passed: count === 1 && !tie, detail };
}

function singleValued({ chain, identifiers, answers }: ChainCandidate): Gate {
  const detail = `${chain.identify.label} names ${identifiers.length}, ${chain.ask.label} names ${answers.length}`;
  return { gate: 'single_valued', passed: identifiers.length === 1 && answers.length === 1, detail };
}

function answerNotInQuestion({ question, answers }: ChainCandidate): Gate {
  const words = ` ${normalizeAnswer(question)} `;
  const said = answers.filter((answer) => mentions(question, answer) || words.includes(` ${normalizeAnswer(answer)} `));
  return {
    gate: 'answer_not_in_question',
    passed: said.length === 0,
    detail: said.length === 0 ? 'not in the question' : `in it: ${said.join(', ')}`,
  };
}

function intermediateNotInQuestion({ chain, question }: ChainCandidate): Gate {
  const said = [chain.start, chain.end].flatMap(namesOf).filter((name) => mentions(question, name));
  return {
    gate: 'intermediate_not_in_question',
    passed: said.length === 0,
    detail: said.length === 0 ? 'no country of the chain is named' : `named: ${[...new Set(said)].join(', ')}`,
  };
}

function splitDisjoint({ chain }: ChainCandidate, heldOut: ReadonlySet<string>): Gate {
  const held = [chain.start, chain.end].map((profile) => heldOut.has(profile.code));
  const detail = `the chain is ${held[0] === true ? 'held out' : 'for training'}, its answer ${held[1] === true ? 'held out' : 'for training'}`;
  return { gate: 'split_disjoint', passed: held[0] === held[1], detail };
}

/** The results of all gates, in a fixed order. */
export function judge(candidate: ChainCandidate, heldOut: ReadonlySet<string>): readonly Gate[] {
  return [
    singleValued(candidate),
    uniqueIdentifier(candidate),
    answerNotInQuestion(candidate),
    intermediateNotInQuestion(candidate),
    splitDisjoint(candidate, heldOut),
  ];
}
