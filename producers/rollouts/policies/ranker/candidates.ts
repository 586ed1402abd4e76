// The actions that the ranker chooses from, with their features. At most MAX_CANDIDATES, in a fixed order.
import type { BaseCall, FinalAnswer } from '../../../../streams/core/agents.ts';
import { rowOf, writeRow } from './features.ts';
import type { FeatureName, FeatureValues } from './features.ts';
import type { ParsedQuestion, PlaceStatement } from './question.ts';
import { accessFeatures, answerFeatures, hardQueries, hardShared, mostWanted, searchFeatures } from './hard-features.ts';
import type { CandidateQuery } from './hard-features.ts';
import { placeAfter } from './state.ts';
import type { ReadPage, SearchState } from './state.ts';
import type { LinkView } from './view.ts';
import { coverage, wordSet, wordsOf } from './words.ts';

export interface ActionCandidate {
  readonly action: BaseCall | FinalAnswer;
  readonly row: Float32Array;
}

export interface TurnSituation {
  readonly question: ParsedQuestion;
  readonly standing: SearchState;
  readonly turn: number;
  readonly maxTurns: number;
}

/** Maximum candidates per decision. */
export const MAX_CANDIDATES = 32;
const MAX_QUERIES = 6;
/** Maximum additional queries for hard questions. */
const MAX_CLAUSE_QUERIES = 2;
const MAX_RESULTS = 8;
const MAX_LINKS = 10;
/** How many recently read pages can supply answers; pages before the last one supply only their best-fitting spans. */
const ANSWER_PAGES = 2;

function common({ question, standing, turn, maxTurns }: TurnSituation): FeatureValues {
  return {
    bias: 1,
    turn_fraction: turn / Math.max(1, maxTurns),
    pages_asked: question.pages - 1,
    progress: standing.progress,
    unread_anchor: Math.max(0, ...standing.results.map(({ anchor }) => anchor)),
    ...hardShared(standing),
  };
}

const isNumeric = ({ spans }: PlaceStatement): number => Number(spans.every((span) => /^[\d,.]+$/.test(span)));
const clauseQuery =
  (kind: FeatureName) =>
  (told: PlaceStatement): CandidateQuery => ({ text: told.text, kind, more: { query_is_numeric: isNumeric(told) } });

/** One query per exact statement, first those about the start, plus one that joins several statements about the start. */
function clauseQueries({ places, last }: ParsedQuestion): readonly CandidateQuery[] {
  const [start, ...others] = [...places].reverse();
  const exact = start?.exact ?? [];
  return [
    ...(exact.length === 0 ? [{ text: last.text, kind: 'query_last_clause' } as const] : exact.map(clauseQuery('query_last_clause'))),
    ...others.flatMap((place) => place.exact).map(clauseQuery('query_other_place')),
    ...(exact.length < 2 ? [] : [{ text: exact.map(({ text }) => text).join(' '), kind: 'query_joined' } as const]),
  ];
}

function spanQueries({ places }: ParsedQuestion): readonly CandidateQuery[] {
  const { told, exact } = places.at(-1) ?? { told: [], exact: [] };
  return (exact.length > 0 ? exact : told)
    .flatMap(({ spans }) => spans)
    .slice(0, 2)
    .map((text) => ({ text, kind: 'query_span' }));
}

function queriesFor({ question, standing }: TurnSituation): readonly CandidateQuery[] {
  const lastTitle = standing.read.at(-1)?.view.page.title;
  const middle = question.places.at(-2)?.lead;
  return [
    ...hardQueries(question, standing),
    { text: question.text, kind: 'query_question' },
    ...clauseQueries(question),
    { text: question.head.text, kind: 'query_head' },
    ...(middle === undefined ? [] : [{ text: middle.text, kind: 'query_middle' } as const]),
    ...spanQueries(question),
    ...(lastTitle === undefined ? [] : [{ text: `${lastTitle} ${question.head.text}`, kind: 'query_title_and_head' } as const]),
  ];
}

function searches(situation: TurnSituation): ActionCandidate[] {
  const { question, standing } = situation;
  const seen = new Set(standing.queries);
  const made: ActionCandidate[] = [];
  for (const { text: query, kind, more } of queriesFor(situation)) {
    if (query === '' || seen.has(query)) continue;
    seen.add(query);
    const row = rowOf({
      is_search: 1,
      progress_of_search: standing.progress,
      [kind]: 1,
      query_length: wordsOf(query).length / 10,
      query_covers_last: coverage(question.last.words, wordSet(query)),
      queries_made: standing.queries.size / 4,
      ...searchFeatures(standing),
      ...more,
    });
    made.push({ action: { tool: 'search', query }, row });
  }
  return made.slice(0, MAX_QUERIES + (question.isHard ? MAX_CLAUSE_QUERIES : 0));
}

function results({ standing }: TurnSituation): ActionCandidate[] {
  const best = Math.max(0, ...standing.results.map(({ anchor }) => anchor));
  return mostWanted(standing, standing.results, ({ found }) => found.item.url)
    .slice(0, MAX_RESULTS)
    .map(({ found, anchor, coversHead }) => ({
      action: { tool: 'access', url: found.item.url },
      row: rowOf({
        is_result: 1,
        progress_of_result: standing.progress,
        result_reciprocal_rank: 1 / (1 + found.rank),
        result_anchor: anchor,
        result_is_best_anchor: anchor > 0 && anchor === best ? 1 : 0,
        result_covers_head: coversHead,
        ...accessFeatures(standing, found.item.url, 'hard_result'),
      }),
    }));
}

function linkRow({ question, standing }: TurnSituation, source: ReadPage, view: LinkView): Float32Array {
  const at = placeAfter(source.stage, question);
  const fits = view.fits[at] ?? 0;
  const leads = Number(source.stage >= 1 && source.stage < question.pages);
  const direction = (question.places[at]?.direction ?? 0) * (Number(view.isLargest) - Number(view.isSmallest));
  return rowOf({
    is_link: 1,
    progress_of_link: standing.progress,
    link_fits_middle: fits,
    link_is_largest: Number(view.isLargest),
    link_is_smallest: Number(view.isSmallest),
    link_direction: direction,
    link_source_anchor: leads,
    link_wanted: direction * leads * (fits > 0 ? 1 : 0),
    links_beside: view.beside / 10,
    ...accessFeatures(standing, view.link.url, 'hard_link'),
  });
}

/** The last page read, or an earlier one that was further along if the last one led nowhere. */
function sourceOf({ read }: SearchState): ReadPage | undefined {
  const last = read.at(-1);
  if (last === undefined || last.stage > 0) return last;
  const furthest = Math.max(...read.map(({ stage }) => stage));
  return furthest === 0 ? last : read.findLast(({ stage }) => stage === furthest);
}

/** Links of other pages to places that are sought. */
function wantedElsewhere({ plan, read }: SearchState, source: ReadPage): { source: ReadPage; view: LinkView }[] {
  if (plan === undefined) return [];
  return read
    .filter((page) => page !== source)
    .flatMap((page) => page.view.links.filter(({ link }) => plan.sought(link.url) !== undefined).map((view) => ({ source: page, view })));
}

function links(situation: TurnSituation): ActionCandidate[] {
  const { standing, question } = situation;
  const source = sourceOf(standing);
  if (source === undefined) return [];
  const at = placeAfter(source.stage, question);
  const own = source.view.links
    .filter(({ link }) => !standing.visited.has(link.url))
    .sort((a, b) => (b.fits[at] ?? 0) - (a.fits[at] ?? 0))
    .map((view) => ({ source, view }));
  return mostWanted(standing, [...own, ...wantedElsewhere(standing, source)], ({ view }) => view.link.url)
    .slice(0, MAX_LINKS)
    .map(({ source: from, view }) => ({ action: { tool: 'access', url: view.link.url }, row: linkRow(situation, from, view) }));
}

/** The pages that can supply answers, the most promising first. */
function answerPages({ read, plan }: SearchState): readonly ReadPage[] {
  const last = read.slice(-ANSWER_PAGES).reverse();
  const found = read.findLast(({ view }) => plan !== undefined && plan.bestFound > 0 && plan.found(view.page.url) === plan.bestFound);
  return found === undefined ? last : [found, ...last.filter((page) => page !== found)];
}

function answers({ question, standing }: TurnSituation): ActionCandidate[] {
  const last = standing.read.at(-1);
  const pages = answerPages(standing);
  return pages.flatMap((read) => {
    const stage = read.stage / question.pages;
    const considered = read === pages[0] ? read.view.answers : read.view.answers.filter(({ isBest }) => isBest);
    return considered.map(({ text, isBest, row }) => ({
      action: { tool: 'answer', answer: text } as const,
      row: writeRow(row.slice(), {
        progress_of_answer: standing.progress,
        answer_page_stage: stage,
        answer_page_is_last_read: Number(read === last),
        answer_best_on_final_page: isBest && stage >= 1 ? 1 : 0,
        ...answerFeatures(standing, read.view.page.url, isBest),
      }),
    }));
  });
}

/** Every action worth considering; empty only when everything was tried. */
export function candidatesOf(situation: TurnSituation): readonly ActionCandidate[] {
  const moves = [...searches(situation), ...results(situation), ...links(situation)];
  const all = [...moves, ...answers(situation)].slice(0, MAX_CANDIDATES);
  const shared = common(situation);
  for (const { row } of all) writeRow(row, shared);
  return all;
}
