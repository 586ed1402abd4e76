// The state of a trajectory, derived from its history: what was queried, found and read, and how far along the hops each page is.
import type { Observation, PastTurn, ToolResult } from '../../../../streams/core/agents.ts';
import { foundBy, pageOf } from './page.ts';
import { byNameOf } from './fitting.ts';
import { planOf } from './plan.ts';
import type { Plan } from './plan.ts';
import type { ParsedQuestion } from './question.ts';
import { merged } from './sightings.ts';
import type { Sighting } from './sightings.ts';
import type { PageView, ResultView, Views } from './view.ts';

export interface ReadPage {
  readonly view: PageView;
  /** 0 = none of the places, 1 = the start, 2 = the place that it leads to, and so on up to the place that is asked about. */
  readonly stage: number;
}

export interface SearchState {
  /** In reading order. */
  readonly read: readonly ReadPage[];
  readonly visited: ReadonlySet<string>;
  readonly queries: ReadonlySet<string>;
  /** Unread results of the last search that found something. */
  readonly results: readonly ResultView[];
  /** Best stage so far, as a share of the pages that the question requires. */
  readonly progress: number;
  /** For hard questions. */
  readonly plan: Plan | undefined;
}

const ANCHORED = 0.5;

/** Number of the place to read about after a page of this stage; after the last stage, that of the place that is asked about. */
export const placeAfter = (stage: number, { places }: ParsedQuestion): number => Math.max(0, places.length - 1 - Math.max(1, stage));

/** A page belongs to a place if it fits exact statements about it, or if a page of the previous place leads there and what is said fits. */
function stageOf(view: PageView, before: readonly ReadPage[], question: ParsedQuestion): number {
  const { places } = question;
  const fits = (at: number): boolean => (view.fits[at] ?? 0) >= ANCHORED;
  const told = places.findIndex((place, at) => fits(at) && place.exact.length > 0);
  const stages = before
    .filter(({ stage }) => stage >= 1 && stage < places.length)
    .flatMap(({ view: source, stage }) => {
      const at = placeAfter(stage, question);
      const leads = source.links.some(({ link, fits: lead }) => (lead[at] ?? 0) > 0 && link.url === view.page.url);
      return leads && (places[at]?.told.length === 0 || fits(at)) ? [stage + 1] : [];
    });
  return Math.max(told < 0 ? 0 : places.length - told, ...stages);
}

interface Gathered {
  readonly read: ReadPage[];
  readonly visited: Set<string>;
  readonly queries: Set<string>;
  results: readonly ResultView[];
  readonly seen: Map<string, Sighting>;
}

/** Facts from a page take precedence over those from search results. */
function see({ seen }: Gathered, sighting: Sighting | undefined, isPage: boolean): void {
  if (sighting === undefined) return;
  const known = seen.get(sighting.url);
  seen.set(sighting.url, known === undefined ? sighting : isPage ? merged(known, sighting) : merged(sighting, known));
}

interface Reading {
  readonly question: ParsedQuestion;
  readonly views: Views;
}

function gatherPage(result: ToolResult, into: Gathered, { question, views }: Reading): void {
  const view = views.page(pageOf(result));
  into.read.push({ view, stage: stageOf(view, into.read, question) });
  see(into, view.sighting, true);
}

function gatherHits(result: ToolResult, into: Gathered, { views }: Reading): void {
  if (result.items.length === 0) return;
  into.results = views.results(foundBy(result));
  for (const { sighting } of into.results) see(into, sighting, false);
}

function gather({ action, result }: PastTurn, into: Gathered, reading: Reading): void {
  const isRead = result?.status === 'ok';
  if (action?.tool === 'search') {
    into.queries.add(action.query);
    if (isRead) gatherHits(result, into, reading);
  }
  if (action?.tool === 'access') {
    into.visited.add(action.url);
    if (isRead) gatherPage(result, into, reading);
  }
}

/** Derives the state from the history of an observation. */
export function standingOf(observation: Observation, question: ParsedQuestion, views: Views): SearchState {
  const gathered: Gathered = { read: [], visited: new Set(), queries: new Set(), results: [], seen: new Map() };
  for (const turn of observation.history) gather(turn, gathered, { question, views });
  const stage = Math.max(0, ...gathered.read.map((page) => page.stage));
  const read = new Set(gathered.read.map(({ view }) => view.page.url));
  const { seen, ...state } = gathered;
  return {
    ...state,
    plan: question.isHard ? planOf(question, { all: seen, byName: byNameOf(seen), read }) : undefined,
    results: gathered.results.filter(({ found }) => !gathered.visited.has(found.item.url)),
    progress: Math.min(1, stage / question.pages),
  };
}
