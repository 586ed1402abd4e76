// How well each place seen so far fits each described place of a hard question, judged by all statements and relations seen so far. The
// start of the question is judged first, then each place that follows: no place fits better than the place that leads to it.
import type { ParsedQuestion } from './question.ts';
import { followsFrom } from './sightings.ts';
import type { Sighting } from './sightings.ts';

interface FittingPlace {
  /** Undefined for a place that is only named. */
  readonly sighting: Sighting | undefined;
  readonly name: string;
  /** 0 to 1. */
  readonly fit: number;
}

/** By address, or by the key of a name without a known address. */
export type FittingPlaces = ReadonlyMap<string, FittingPlace>;

/** The places seen so far. */
export interface SeenPlaces {
  readonly all: ReadonlyMap<string, Sighting>;
  /** A place by each of its names. */
  readonly byName: ReadonlyMap<string, Sighting>;
  /** Addresses. */
  readonly read: ReadonlySet<string>;
}

/** The places by name; the first one seen, if several have the same name. */
export function byNameOf(all: SeenPlaces['all']): ReadonlyMap<string, Sighting> {
  const byName = new Map<string, Sighting>();
  for (const sighting of all.values()) for (const key of sighting.keys) if (!byName.has(key)) byName.set(key, sighting);
  return byName;
}

/** Factor for a statement or relation that was neither confirmed nor refuted. */
const OPEN = 0.5;

const fitOf = (holds: readonly (boolean | undefined)[]): number =>
  holds.reduce((fit, one) => fit * (one === undefined ? OPEN : Number(one)), 1);

/** Keeps the better fit. */
function raise(into: Map<string, FittingPlace>, key: string, one: FittingPlace): void {
  if (one.fit > (into.get(key)?.fit ?? 0)) into.set(key, one);
}

/** The seen places for which a statement about the start holds, and none is refuted. */
export function starts({ places }: ParsedQuestion, { all }: SeenPlaces): FittingPlaces {
  const into = new Map<string, FittingPlace>();
  for (const [url, sighting] of all) {
    const holds = sighting.holds[places.length - 1] ?? [];
    if (holds.includes(true)) raise(into, url, { sighting, name: '', fit: fitOf(holds) });
  }
  return into;
}

interface PlaceStep {
  /** Number of the place. */
  readonly at: number;
  readonly source: Sighting;
  /** Fit of the source. */
  readonly fit: number;
  /** Factor for the statements about a place that was not seen. */
  readonly unseen: number;
}

/** Seen places whose page states that they follow the source. Where that is unknown, a place counts half if a statement about it holds. */
function tellFollowing({ all }: SeenPlaces, { at, source, fit }: PlaceStep, into: Map<string, FittingPlace>): void {
  for (const [url, sighting] of all) {
    const holds = sighting.holds[at] ?? [];
    const follows = Number(followsFrom(source, sighting, at) ?? (holds.includes(true) ? OPEN : 0));
    raise(into, url, { sighting, name: '', fit: fit * follows * fitOf(holds) });
  }
}

/** Places that the page of the source names. */
function nameFollowing({ all, byName }: SeenPlaces, { at, source, fit, unseen }: PlaceStep, into: Map<string, FittingPlace>): void {
  const meant = (source.leads[at]?.named ?? []).filter(({ isMeant }) => isMeant);
  for (const { key, name, isLink } of meant) {
    const sighting = all.get(key) ?? byName.get(key);
    const own = sighting === undefined ? unseen : fitOf(sighting.holds[at] ?? []);
    raise(into, sighting?.url ?? key, { sighting, name: isLink ? '' : name, fit: fit * own });
  }
}

/** The places that follow from those before. */
export function followedBy(
  { places }: ParsedQuestion,
  seen: SeenPlaces,
  { at, before }: { readonly at: number; readonly before: FittingPlaces },
): FittingPlaces {
  const into = new Map<string, FittingPlace>();
  const { isTold = false, told = [] } = places[at] ?? {};
  const unseen = OPEN ** told.length;
  for (const { sighting: source, fit } of before.values()) {
    if (source !== undefined) (isTold ? tellFollowing : nameFollowing)(seen, { at, source, fit, unseen }, into);
  }
  return into;
}
