// Matches the places seen so far with the places in a hard question, and decides what to look for next.
import { followedBy, starts } from './fitting.ts';
import type { FittingPlaces, SeenPlaces } from './fitting.ts';
import type { ParsedQuestion } from './question.ts';
import type { Sighting } from './sightings.ts';

interface SoughtPlace {
  readonly name: string;
  /** How well it fits a place of the question, 0 to 1. */
  readonly fit: number;
  /** `fit`, weighted by how close that place is to the one that is asked about. */
  readonly want: number;
}

/** A place whose page does not name the place that follows; the page of the place that follows names this one. */
interface SearchBase {
  readonly from: Sighting;
  /** Number of the place that follows. */
  readonly at: number;
  readonly want: number;
}

export interface Plan {
  /** How well a page that was read fits the place that is asked about, 0 to 1. */
  found(url: string): number;
  /** What is known of an address that was not read; undefined if it fits no place. */
  sought(url: string): SoughtPlace | undefined;
  /** The largest results of `found`, and of `want` in `sought`. */
  readonly bestFound: number;
  readonly bestSought: number;
  /** Names without a known address, most wanted first. */
  readonly names: readonly SoughtPlace[];
  readonly bases: readonly SearchBase[];
}

const byWant = (one: { readonly want: number }, other: { readonly want: number }): number => other.want - one.want;

interface Planning {
  readonly question: ParsedQuestion;
  readonly seen: SeenPlaces;
  readonly sought: Map<string, SoughtPlace>;
  readonly bases: SearchBase[];
}

/** Adds the places that fit place `at`: those to look for, and those whose next place is named only on its own page. */
function gather({ question, seen, sought, bases }: Planning, fitting: FittingPlaces, at: number): void {
  const { places } = question;
  const followersTell = places[at - 1]?.isTold === true;
  for (const [key, { name, fit, sighting }] of fitting) {
    const want = (fit * (places.length - at)) / places.length;
    if (followersTell && sighting !== undefined) bases.push({ from: sighting, at: at - 1, want });
    const isNew = !seen.read.has(key) && want > (sought.get(key)?.want ?? 0);
    if (isNew) sought.set(key, { name: sighting === undefined ? name : '', fit, want });
  }
}

/** Judges the places seen so far. */
export function planOf(question: ParsedQuestion, seen: SeenPlaces): Plan {
  const planning: Planning = { question, seen, sought: new Map(), bases: [] };
  const { sought, bases } = planning;
  let at = question.places.length - 1;
  let fitting = starts(question, seen);
  gather(planning, fitting, at);
  while (at > 0) {
    at -= 1;
    fitting = followedBy(question, seen, { at, before: fitting });
    gather(planning, fitting, at);
  }
  const found = new Map([...fitting].filter(([key]) => seen.read.has(key)).map(([key, { fit }]) => [key, fit]));
  const wanted = [...sought.values()].sort(byWant);
  return {
    found: (url) => found.get(url) ?? 0,
    sought: (url) => sought.get(url),
    bestFound: Math.max(0, ...found.values()),
    bestSought: wanted[0]?.want ?? 0,
    names: wanted.filter(({ name }) => name !== ''),
    bases: bases.sort(byWant),
  };
}
