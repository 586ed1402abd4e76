// Checks questions using only their words and the raw facts. Each question must follow the known grammar, fit exactly one country in every
// part, have no other reading with a different answer, have one answer that equals the gold answer and is not in the question, need every
// clause for it, state the year of anything that changes, claim the right number of lookups, and occur once.
import { partsOf, readings } from './described.ts';
import type { DescribedCountry } from './described.ts';
import { readQuestion, undatedIn } from './grammar.ts';
import type { ReadQuestion } from './grammar.ts';
import { Places, words } from './places.ts';
import { textAt } from './raw-facts.ts';
import type { RawProfile } from './raw-facts.ts';

export interface CheckedQuestion {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  /** Number of lookups that it claims to need. */
  readonly hops?: number | undefined;
}

type FaultKind =
  | 'unreadable'
  | 'no_country'
  | 'several_countries'
  | 'second_reading'
  | 'wrong_answer'
  | 'second_answer'
  | 'told'
  | 'needless_clause'
  | 'undated'
  | 'wrong_hops'
  | 'duplicate';

interface QuestionFault {
  readonly id: string;
  readonly kind: FaultKind;
  readonly detail: string;
}

/** How many questions have 0, 1, 2, … of something. */
export interface CountDistribution {
  readonly mean: number;
  readonly counts: readonly number[];
}

export interface CheckReport {
  readonly questions: number;
  readonly faults: readonly QuestionFault[];
  readonly counts: Readonly<Partial<Record<FaultKind, number>>>;
  /** Clauses of the questions that could be parsed. */
  readonly clauses: CountDistribution;
  /** Lookups that cannot be skipped: finding the start, following each needed relation, and reading the field that is asked for. */
  readonly lookups: CountDistribution;
}

interface Checked {
  readonly faults: readonly QuestionFault[];
  readonly clauses: number;
  readonly lookups: number;
}

const START_AND_FIELD = 2;

class Checker {
  readonly #places = new Places();

  /** Returns every fault of one question. */
  check(asked: CheckedQuestion): Checked {
    const { id, question } = asked;
    const fault = (kind: FaultKind, detail: string): QuestionFault => ({ id, kind, detail });
    const read = readQuestion(question);
    const [meant, ...others] = read === undefined ? [] : readings(read.clauses);
    if (read === undefined || meant === undefined) return { faults: [fault('unreadable', question)], clauses: 0, lookups: 0 };
    const found = this.#places.fitting(meant, { surely: false, open: false });
    const [country] = found;
    const clauses = partsOf(meant).length;
    if (country === undefined) return { faults: [fault('no_country', question)], clauses, lookups: 0 };
    if (found.length > 1) {
      return { faults: [fault('several_countries', found.map(({ names }) => names[0]).join(', '))], clauses, lookups: 0 };
    }
    const needless = this.#needless(meant, { asked, read });
    const leads = partsOf(meant).filter((part) => 'relation' in part && !needless.includes(part)).length;
    const lookups = START_AND_FIELD + leads;
    const faults = [
      ...others.flatMap((other) => this.#otherAnswer(other, read, country)).map((detail) => fault('second_reading', detail)),
      ...answerFaults(asked, read, fieldOf(country, read)).map(([kind, detail]) => fault(kind, detail)),
      ...undatedIn(read).map((path) => fault('undated', path)),
      ...needless.map((part) => fault('needless_clause', JSON.stringify(part))),
      ...(asked.hops === undefined || asked.hops === lookups ? [] : [fault('wrong_hops', `it says ${asked.hops}, and needs ${lookups}`)]),
    ];
    return { faults, clauses, lookups };
  }

  /** Parts of a reading that are redundant: the rest still has one answer. Removing parts never reduces the number of matches. */
  #needless(meant: DescribedCountry, { asked, read }: { readonly asked: CheckedQuestion; readonly read: ReadQuestion }) {
    const isOther = (profile: RawProfile): boolean => {
      const said = words(fieldOf(profile, read));
      return said.trim() !== '' && !asked.answers.some((answer) => said.includes(words(answer)));
    };
    return partsOf(meant).filter((without) => !this.#places.fitting(meant, { surely: true, open: true, without }).some(isOther));
  }

  /** The country of another reading, if that reading fits exactly one country and it has another answer. */
  #otherAnswer(other: DescribedCountry, read: ReadQuestion, meant: RawProfile): readonly string[] {
    const [one, ...more] = this.#places.fitting(other, { surely: false, open: true });
    if (one === undefined || more.length > 0 || one === meant) return [];
    const said = fieldOf(one, read);
    return said === '' || said === fieldOf(meant, read) ? [] : [`it can be read to mean ${one.names[0] ?? one.code}`];
  }
}

const fieldOf = (profile: RawProfile, { asked }: ReadQuestion): string => textAt(profile, asked).replace(/\s+/g, ' ').trim();

function answerFaults(
  { question, answers }: CheckedQuestion,
  read: ReadQuestion,
  value: string,
): readonly (readonly [FaultKind, string])[] {
  return [
    ...(answers.every((answer) => value.includes(answer)) ? [] : [['wrong_answer', `${answers.join(', ')} is not in "${value}"`] as const]),
    ...(answers.length === 1 ? [] : [['second_answer', answers.join(' | ')] as const]),
    ...answers.filter((answer) => words(question).includes(words(answer))).map((answer) => ['told', answer] as const),
    ...rivalsIn(value, answers[0] ?? '', read).map((rival) => ['second_answer', `"${rival}" in "${value}"`] as const),
  ];
}

/** Fields with roles separated by a slash name two people; the question asks for one of them. */
const BY_ROLE = /lyrics\/music/;

/** Fields that are asked for a date: names and stories around it do not compete with the answer, but other dates do. */
const BY_DATE = /^(?:National holiday|Independence)$/;
const date = /\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December)\b/g;

/** Other possible answers in the field. */
function rivalsIn(value: string, answer: string, { asked }: ReadQuestion): readonly string[] {
  if (!value.includes(answer)) return [];
  const bare = value.replace(/\s*\([^()]*\)/g, '').trim();
  if (BY_ROLE.test(asked.join(' ')) || /^\D* -?[\d,.]+ m$/.test(bare) || asked.includes('Exchange rates')) return [];
  if (BY_DATE.test(asked.at(-1) ?? '')) return [...bare.matchAll(date)].map(([said]) => said).filter((said) => !answer.startsWith(said));
  const around = bare.replace(answer, ' ').split(/; ?(?:note|national colors?)|: note|\+\+/)[0] ?? '';
  return around
    .split(/[,;/]| or /)
    .map((part) => part.replace(/["\s]+/g, ' ').trim())
    .filter((part) => /\p{Lu}\p{L}{2,}/u.test(part) && !/^(?:Independence|National|Republic|.* Day)\b/.test(part));
}

function distributionOf(values: readonly number[]): CountDistribution {
  const counts = Array.from({ length: Math.max(-1, ...values) + 1 }, (_, value) => values.filter((one) => one === value).length);
  return { mean: values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length), counts };
}

/** Checks a set of questions. */
export function checkQuestions(questions: Iterable<CheckedQuestion>): CheckReport {
  const checker = new Checker();
  const faults: QuestionFault[] = [];
  const said = new Map<string, string>();
  const checked: Checked[] = [];
  for (const question of questions) {
    const one = checker.check(question);
    checked.push(one);
    faults.push(...one.faults);
    const before = said.get(words(question.question));
    if (before !== undefined) faults.push({ id: question.id, kind: 'duplicate', detail: `the same words as ${before}` });
    said.set(words(question.question), question.id);
  }
  const counts: Partial<Record<FaultKind, number>> = {};
  for (const { kind } of faults) counts[kind] = (counts[kind] ?? 0) + 1;
  const readable = checked.filter(({ clauses }) => clauses > 0);
  return {
    questions: checked.length,
    faults,
    counts,
    clauses: distributionOf(readable.map(({ clauses }) => clauses)),
    lookups: distributionOf(readable.filter(({ lookups }) => lookups > 0).map(({ lookups }) => lookups)),
  };
}
