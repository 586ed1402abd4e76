// Parses the words of a question: the places that its clauses describe, how one leads to the next, the names and numbers in it, and the
// kind of thing it asks for. Clauses joined by a comma or "and" are about the same place; a clause that is not joined to the next leads to
// another place, which the next clauses are about.
import { wordSet, wordsOf } from './words.ts';
import type { WordSet } from './words.ts';

interface QuestionClause {
  readonly text: string;
  readonly words: WordSet;
}

/** One statement about a place. */
export interface PlaceStatement extends QuestionClause {
  /** Quoted, capitalized and numeric spans, or the last word if there are none. */
  readonly spans: readonly string[];
  readonly spanWords: WordSet;
  /** Words that identify the line of a page that states it. */
  readonly labelWords: WordSet;
  /** Words of the unit after bounds; empty without one. */
  readonly unitWords: WordSet;
  /** Bounds of a number, or the first letter of a name: other places match as well. */
  readonly vague: { readonly low: number; readonly high: number } | { readonly initial: string } | undefined;
}

/** A place that is described but not named. */
export interface DescribedPlace {
  readonly told: readonly PlaceStatement[];
  /** The statements that do not fit other places by chance. */
  readonly exact: readonly PlaceStatement[];
  /** How it follows from the next place in the list; undefined for the start. */
  readonly lead: QuestionClause | undefined;
  /** 1 when a maximum leads to it, -1 when a minimum does, else 0; for a place without a lead, that of the whole question. */
  readonly direction: number;
  /** The page of this place says how it follows ("that became independent from"), not the page of the next one in the list. */
  readonly isTold: boolean;
}

export interface ParsedQuestion {
  readonly text: string;
  readonly words: WordSet;
  /** The part before the first relative pronoun: what is asked for. */
  readonly head: QuestionClause;
  /** All statements about the start. */
  readonly last: QuestionClause;
  /** From the place that is asked about to the start, which the last clauses identify. At least one. */
  readonly places: readonly DescribedPlace[];
  /** Words that identify the lines about the start. */
  readonly labelWords: WordSet;
  /** Number of pages to read one after the other, one per place. */
  readonly pages: number;
  /**
   * Several statements about a place, vague ones, more than two places, or places related otherwise than by a border: one exact statement
   * and the links of its page do not suffice.
   */
  readonly isHard: boolean;
  readonly asksForDate: boolean;
  readonly asksForPerson: boolean;
}

/** Relative pronouns, not interrogative ones: those among the first three words ask. */
const pronouns = /(?<=\S+\s+\S+\s+\S+)\s+\b(?:whose|that|which|who)\b\s+/u;
const span =
  /"[^"]+"|\.[a-z]{2,}\b|(?:(?:\p{Lu}|\d)(?:[\p{L}\p{N}.'’/-]|,(?=\d))*)(?: (?:(?:of|de|da|di|du|la|the|ng|al|es)\b )*(?:\p{Lu}|\d)(?:[\p{L}\p{N}.'’/-]|,(?=\d))*)*/gu;
const most = /\b(?:longest|largest|biggest|highest number|most|greatest)\b/i;
const least = /\b(?:shortest|smallest|fewest|least)\b/i;

const clauseOf = (text: string): QuestionClause => ({ text: text.trim(), words: wordSet(text) });

function spansOf(clause: string): readonly string[] {
  const found = [...clause.matchAll(span)].map(([text]) => text.replaceAll('"', '').replace(/[.']$/, '').trim());
  const lastWord = clause.split(/\s+/).at(-1) ?? clause;
  return found.length > 0 ? found : [lastWord];
}

const range = /^(.+?)(?:\s+in\s+\d{4})?\s+(?:is|are|was|were) between ([\d,.]*\d) and ([\d,.]*\d)(.*)$/u;
const initial = /^(.*?)\s+has a name beginning with (\p{Lu})\b/u;
/** Words around a name that belong neither to the name nor to the label of its line. */
const telling = /\b(?:has )?(?:a name with )?the word\b|\bby somebody called\b/u;
const numberOf = (text: string): number => Number(text.replaceAll(',', ''));
const joined = /(?:,|,?\s+and)$/u;

interface VagueStatement {
  readonly label: string;
  readonly unit: string;
  readonly vague: NonNullable<PlaceStatement['vague']>;
}

function vagueOf(text: string): VagueStatement | undefined {
  const bounds = range.exec(text);
  if (bounds !== null) {
    const [, label = '', low = '', high = '', unit = ''] = bounds;
    return { label, unit, vague: { low: numberOf(low), high: numberOf(high) } };
  }
  const [, label = '', letter = ''] = initial.exec(text) ?? [];
  return label === '' ? undefined : { label, unit: '', vague: { initial: letter } };
}

function toldOf(text: string): PlaceStatement {
  const clause = clauseOf(text.trim().replace(joined, ''));
  const spans = spansOf(clause.text);
  const spanWords = new Set(spans.flatMap(wordsOf));
  const { label, unit, vague } = vagueOf(clause.text) ?? { label: undefined, unit: '', vague: undefined };
  const aside = label ?? clause.text.replace(telling, ' ');
  const labelWords = new Set([...wordSet(aside)].filter((term) => label !== undefined || !spanWords.has(term)));
  return { ...clause, spans, spanWords, labelWords, unitWords: wordSet(unit), vague };
}

/** Matches a clause about a field of the place itself. */
const itself = /\b(?:its|independent)\b/i;

const directionOf = (text: string): number => (most.test(text) ? 1 : least.test(text) ? -1 : 0);

/** The places in question order, each with its clauses. */
function placesOf(clauses: readonly string[], question: string): readonly DescribedPlace[] {
  const places: DescribedPlace[] = [];
  let told: PlaceStatement[] = [];
  clauses.forEach((text, at) => {
    const leads = at < clauses.length - 1 && !joined.test(text.trim());
    if (!leads) told.push(toldOf(text));
    if (!leads && at < clauses.length - 1) return;
    const exact = told.filter(({ vague }) => vague === undefined);
    const lead = leads ? clauseOf(text) : undefined;
    places.push({ told, exact, lead, direction: directionOf(lead?.text ?? question), isTold: itself.test(lead?.text ?? '') });
    told = [];
  });
  return places;
}

const isHardPlace = ({ told, exact, lead }: DescribedPlace): boolean =>
  exact.length < told.length || (lead === undefined ? told.length > 1 : told.length > 0 || !lead.words.has('border'));

/** Parses a question; the same text always gives an equal result. */
export function readQuestion(text: string): ParsedQuestion {
  const [first = '', ...others] = text.replace(/[?\s]+$/, '').split(pronouns);
  const places = placesOf(others.length === 0 ? [first] : others, text);
  const start = places.at(-1)?.told ?? [];
  return {
    text,
    words: wordSet(text),
    head: clauseOf(first),
    last: clauseOf(start.map((told) => told.text).join(' ')),
    places,
    labelWords: new Set(start.flatMap(({ labelWords }) => [...labelWords])),
    pages: places.length,
    isHard: places.length > 2 || places.some(isHardPlace),
    asksForDate: /\b(?:when|date|day|year)\b/i.test(first),
    asksForPerson: /^who\b/i.test(first),
  };
}
