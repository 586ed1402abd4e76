// Pages and search results relative to a question: which lines concern what is asked, which identify the start, and where links lead.
// Computed once per question and text, so that the samples of a group share it.
import { deriveSeed } from '../../../../streams/core/random.ts';
import { answerRow } from './answer-features.ts';
import type { PlacedSpan } from './answer-features.ts';
import type { SearchHit, PageLine, Link, ParsedPage } from './page.ts';
import type { DescribedPlace, ParsedQuestion, PlaceStatement } from './question.ts';
import { sightingOfHit, sightingOfPage } from './sightings.ts';
import type { Sighting } from './sightings.ts';
import { spansOf } from './spans.ts';
import { coverage, likeness } from './words.ts';
import type { WordSet } from './words.ts';

export interface LinkView {
  readonly link: Link;
  /** How well the label of the line matches the clause that leads to a place, by place number. */
  readonly fits: readonly number[];
  /** Whether the number next to it is the largest or smallest of the line. */
  readonly isLargest: boolean;
  readonly isSmallest: boolean;
  /** Links in the line. */
  readonly beside: number;
}

interface AnswerView {
  readonly text: string;
  readonly isBest: boolean;
  /** Constant features. */
  readonly row: Float32Array;
}

export interface PageView {
  readonly page: ParsedPage;
  /** How well lines of the page state what is said about a place, by place number; 0 when nothing is said about it. */
  readonly fits: readonly number[];
  readonly links: readonly LinkView[];
  readonly answers: readonly AnswerView[];
  /** For hard questions. */
  readonly sighting: Sighting | undefined;
}

export interface ResultView {
  readonly found: SearchHit;
  /** How well one line identifies a place: 1 when it states a complete exact clause. */
  readonly anchor: number;
  readonly coversHead: number;
  /** For hard questions. */
  readonly sighting: Sighting | undefined;
}

/** Views for one question. */
export interface Views {
  page(page: ParsedPage): PageView;
  results(found: readonly SearchHit[]): readonly ResultView[];
}

const FITTING_LINES = 3;
const OTHER_LINES = 2;

/** Weight of vague statements relative to exact ones. */
const VAGUE = 0.3;
const number = /\d[\d,]*(?:\.\d+)?/u;

/** How well a line states something: the span must be present, and the label next to it. */
function saidBy({ spanWords, labelWords }: PlaceStatement, words: WordSet): number {
  const spans = coverage(spanWords, words);
  return spans * (labelWords.size === 0 ? 1 : coverage(labelWords, words));
}

/** The label decides which number or name is meant; the text decides whether it fits. */
function allowedBy({ labelWords, vague }: PlaceStatement, { text, labelWords: label }: PageLine): number {
  if (vague === undefined) return 0;
  const value = number.exec(text)?.[0].replaceAll(',', '');
  const fits =
    'initial' in vague ? /\p{L}/u.exec(text)?.[0] === vague.initial : value !== undefined && +value >= vague.low && +value <= vague.high;
  return fits ? coverage(labelWords, label) : 0;
}

/** The weighted mean over the statements about a place, each scored by its best line. */
function fitOf({ told }: DescribedPlace, page: ParsedPage): number {
  let [sum, weights] = [0, 0];
  for (const one of told) {
    const weight = one.vague === undefined ? 1 : VAGUE;
    const best = (of: (line: PageLine) => number): number => Math.max(0, ...page.lines.map(of));
    sum += weight * best((line) => (one.vague === undefined ? saidBy(one, line.words) : allowedBy(one, line)));
    weights += weight;
  }
  return weights === 0 ? 0 : sum / weights;
}

function linksOf({ places }: ParsedQuestion, page: ParsedPage): LinkView[] {
  return page.lines
    .filter((line) => line.links.length > 0)
    .flatMap((line) => {
      const fits = places.slice(0, -1).map(({ lead }) => (lead === undefined ? 0 : coverage(lead.words, line.labelWords)));
      const numbers = line.links.map((link) => link.number).filter(Number.isFinite);
      const [large, small] = [Math.max(...numbers), Math.min(...numbers)];
      return line.links.map((link) => ({
        link,
        fits,
        isLargest: link.number === large,
        isSmallest: link.number === small,
        beside: line.links.length,
      }));
    });
}

/** All spans of the lines with the best-fitting labels, and the first span of some other lines, which are chosen by a hash. */
function answersOf(question: ParsedQuestion, page: ParsedPage): AnswerView[] {
  const lines = page.lines.map((line, at) => ({ line, asked: likeness(question.head.words, line.labelWords), at }));
  const best = Math.max(...lines.map(({ asked }) => asked));
  const byFit = lines.sort((a, b) => b.asked - a.asked);
  const others = byFit
    .slice(FITTING_LINES)
    .map((one) => ({ ...one, chance: deriveSeed(page.url, one.at + question.text.length) }))
    .sort((a, b) => a.chance - b.chance)
    .slice(0, OTHER_LINES);
  const place =
    (all: boolean) =>
    ({ line, asked }: (typeof lines)[number]): PlacedSpan[] => {
      const beside = spansOf(line.text).slice(0, all ? undefined : 1);
      return beside.map((span) => ({ line, span, beside, asked, isBest: asked > 0 && asked === best }));
    };
  return [...byFit.slice(0, FITTING_LINES).flatMap(place(true)), ...others.flatMap(place(false))].map((placed) => ({
    text: placed.span.text,
    isBest: placed.isBest,
    row: answerRow(question, placed),
  }));
}

/** Views for one question, cached as long as the question and its pages are in memory. */
export function createViews(question: ParsedQuestion): Views {
  const pages = new WeakMap<ParsedPage, PageView>();
  const results = new WeakMap<readonly SearchHit[], readonly ResultView[]>();
  const exact = question.places.flatMap((place) => place.exact);
  return {
    page(page) {
      const known = pages.get(page);
      if (known !== undefined) return known;
      const fits = question.places.map((place) => fitOf(place, page));
      const sighting = question.isHard ? sightingOfPage(question, page) : undefined;
      const view = { page, fits, links: linksOf(question, page), answers: answersOf(question, page), sighting };
      pages.set(page, view);
      return view;
    },
    results(found) {
      const known = results.get(found);
      if (known !== undefined) return known;
      const view = found.map((one) => ({
        found: one,
        anchor: Math.max(0, ...one.lines.flatMap((line) => exact.map((told) => saidBy(told, line.words)))),
        coversHead: Math.max(0, ...one.lines.map((line) => coverage(question.head.words, line.labelWords))),
        sighting: question.isHard ? sightingOfHit(question, one) : undefined,
      }));
      results.set(found, view);
      return view;
    },
  };
}
