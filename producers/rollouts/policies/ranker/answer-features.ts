// Features of a span as an answer. These stay constant during a trajectory, so they are computed once per question and page.
import { rowOf } from './features.ts';
import type { FeatureName, FeatureValues } from './features.ts';
import type { PageLine } from './page.ts';
import type { ParsedQuestion } from './question.ts';
import { cuts } from './spans.ts';
import type { TextSpan } from './spans.ts';
import { coverage, wordSet } from './words.ts';

export interface PlacedSpan {
  readonly line: PageLine;
  readonly span: TextSpan;
  /** All candidate spans of the same line. */
  readonly beside: readonly TextSpan[];
  /** How well the label matches what the question asks for. */
  readonly asked: number;
  /** The line's label fits at least as well as that of every other line of the page. */
  readonly isBest: boolean;
}

const cleanCuts = ['quoted', 'date', 'unmeasured', 'before_parenthesis'] as const;
const cutNames: readonly FeatureName[] = cuts.map((cut) => `cut_${cut}` as const);

/** For a label with a slash: the value's part has the same position as the asked word in the label. */
function slashFits(question: ParsedQuestion, line: PageLine, span: TextSpan): boolean {
  const at = span.cuts.has('slash_first') ? 0 : span.cuts.has('slash_second') ? 1 : -1;
  const named = line.label.split('/');
  const part = named.length === 2 ? named[at] : undefined;
  return (
    part !== undefined &&
    part
      .toLowerCase()
      .split(/\P{L}+/u)
      .some((term) => term.length > 4 && question.head.words.has(term.replace(/s$/, '')))
  );
}

function cutFeatures(question: ParsedQuestion, { line, span, beside }: PlacedSpan): FeatureValues {
  const features: FeatureValues = {};
  cuts.forEach((cut, at) => {
    const name = cutNames[at];
    if (name !== undefined && span.cuts.has(cut)) features[name] = 1;
  });
  const isClean = (other: TextSpan): boolean => cleanCuts.some((cut) => other.cuts.has(cut));
  const isDate = span.cuts.has('date');
  return {
    ...features,
    slash_fits: Number(slashFits(question, line, span)),
    date_asked_and_date: Number(question.asksForDate && isDate),
    date_asked_and_none: Number(question.asksForDate !== isDate),
    cleaner_cut_exists: Number(!isClean(span) && beside.some(isClean)),
  };
}

/** The constant part of an answer's feature row. */
export function answerRow(question: ParsedQuestion, placed: PlacedSpan): Float32Array {
  const { line, span, asked, isBest } = placed;
  const words = span.text.split(/\s+/);
  const capitals = words.filter((term) => /^\p{Lu}/u.test(term)).length / words.length;
  return rowOf({
    is_answer: 1,
    answer_asked: coverage(question.head.words, line.labelWords),
    answer_asked_of_label: coverage(line.labelWords, question.head.words),
    answer_likeness: asked,
    answer_fits_last: coverage(question.labelWords, line.labelWords),
    answer_is_best: Number(isBest),
    answer_length: Math.min(2, words.length / 8),
    answer_has_digit: /\d/.test(span.text) ? 1 : 0,
    answer_capitals: capitals,
    answer_in_question: coverage(wordSet(span.text), question.words),
    answer_position: line.position,
    person_asked_and_capitals: question.asksForPerson ? capitals : 0,
    ...cutFeatures(question, placed),
  });
}
