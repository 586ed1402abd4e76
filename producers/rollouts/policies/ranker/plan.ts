// Which place of a hard question each seen place can be, judged by all statements and relations seen so far. The places are taken from the
// start on: a place counts only as far as the place that leads to it does.
import type { ParsedQuestion } from './question.ts';
import { followsFrom } from './sightings.ts';
import type { Sighting } from './sightings.ts';

interface SoughtPlace {
  readonly name: string;
  /** How sure it is to be the place, 0 to 1. */
  readonly fit: number;
  /** The same, times how far along the place is. */
  readonly want: number;
}

/** A place whose page does not say which one follows; the page of that one says so. */
interface SearchBase {
  readonly from: Sighting;
  /** Number of the place that follows. */
  readonly at: number;
  readonly want: number;
}

export interface Plan {
  /** How sure a page that was read is to be the place that is asked about, 0 to 1. */
  found(url: string): number;
  /** What is known of an address that was not read; undefined if it fits no place. */
  sought(url: string): SoughtPlace | undefined;
  /** The largest of them. */
  readonly bestFound: number;
  readonly bestSought: number;
  /** Names without a known address, most wanted first. */
  readonly names: readonly SoughtPlace[];
  readonly bases: readonly SearchBase[];
}

/** How much a statement that was not seen counts. */
const OPEN = 0.5;

const fitOf = (sighting: Sighting | undefined, at: number, told: number): number =>
  sighting?.holds[at]?.reduce((fit, holds) => fit * (holds === undefined ? OPEN : Number(holds)), 1) ?? OPEN ** told;

interface Fitting {
  readonly sighting: Sighting | undefined;
  readonly name: string;
  readonly fit: number;
}

/** By address, or by the key of a name without a known address. */
type FittingPlaces = Map<string, Fitting>;

const raise = (into: FittingPlaces, key: string, one: Fitting): void => {
  if (one.fit > (into.get(key)?.fit ?? 0)) into.set(key, one);
};

/** The places seen so far. */
export interface SeenPlaces {
  readonly all: ReadonlyMap<string, Sighting>;
  readonly read: ReadonlySet<string>;
}

function starts({ places }: ParsedQuestion, { all }: SeenPlaces): FittingPlaces {
  const into: FittingPlaces = new Map();
  const at = places.length - 1;
  for (const [url, sighting] of all) {
    if (sighting.holds[at]?.includes(true) === true) raise(into, url, { sighting, name: '', fit: fitOf(sighting, at, 0) });
  }
  return into;
}

interface Following {
  readonly at: number;
  readonly before: FittingPlaces;
  readonly byName: ReadonlyMap<string, Sighting>;
}

function following({ places }: ParsedQuestion, { all }: SeenPlaces, { at, before, byName }: Following): FittingPlaces {
  const into: FittingPlaces = new Map();
  const { isTold = false, told = [] } = places[at] ?? {};
  for (const { sighting: source, fit } of before.values()) {
    if (source === undefined) continue;
    if (isTold) {
      for (const [url, sighting] of all) {
        const follows = followsFrom(source, sighting, at) ?? (sighting.holds[at]?.includes(true) === true ? OPEN : 0);
        raise(into, url, { sighting, name: '', fit: fit * Number(follows) * fitOf(sighting, at, 0) });
      }
      continue;
    }
    for (const { key, name, isMeant, isLink } of source.leads[at]?.named ?? []) {
      if (!isMeant) continue;
      const sighting = all.get(key) ?? byName.get(key);
      raise(into, sighting?.url ?? key, { sighting, name: isLink ? '' : name, fit: fit * fitOf(sighting, at, told.length) });
    }
  }
  return into;
}

const byNameOf = (all: SeenPlaces['all']): ReadonlyMap<string, Sighting> => {
  const byName = new Map<string, Sighting>();
  for (const sighting of all.values()) for (const key of sighting.keys) if (!byName.has(key)) byName.set(key, sighting);
  return byName;
};

const byWant = (one: { readonly want: number }, other: { readonly want: number }): number => other.want - one.want;

/** Judges the places seen so far. */
export function planOf(question: ParsedQuestion, seen: SeenPlaces): Plan {
  const { places } = question;
  const byName = byNameOf(seen.all);
  const sought = new Map<string, SoughtPlace>();
  const bases: SearchBase[] = [];
  let before = starts(question, seen);
  for (let at = places.length - 1; at >= 0; at -= 1) {
    if (at < places.length - 1) before = following(question, seen, { at, before, byName });
    for (const [key, { name, fit, sighting }] of before) {
      const want = (fit * (places.length - at)) / places.length;
      if (sighting !== undefined && places[at - 1]?.isTold === true) bases.push({ from: sighting, at: at - 1, want });
      if (!seen.read.has(key) && want > (sought.get(key)?.want ?? 0))
        sought.set(key, { name: sighting === undefined ? name : '', fit, want });
    }
  }
  const found = new Map([...before].filter(([key]) => seen.read.has(key)).map(([key, { fit }]) => [key, fit]));
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
