// The faults of a torture: which, when, for how long. A function of the seed.
//
// They come in rounds of twelve, shuffled: a kill of every target, two freezes and four cuts. Freezes and cuts are dealt
// from decks of their own, so that six rounds hold every kind on every target in every mode.
import { createRandom, shuffled } from '../../../streams/core/random.ts';
import type { ProxyMode } from './chaos-proxy.ts';

export const targets = ['trainer', 'worker', 'warehouse', 'store', 'broker', 'api'] as const;
export type Target = (typeof targets)[number];

export const cutModes = ['refuse', 'reset', 'delay', 'black-hole'] as const satisfies readonly Exclude<ProxyMode, 'pass'>[];

interface Strike {
  readonly atMs: number;
  readonly target: Target;
  /** In [0, 1): which of several brokers is meant. */
  readonly draw: number;
}

export type Fault = Strike &
  (
    | { readonly kind: 'kill' }
    | { readonly kind: 'freeze'; readonly forMs: number }
    /** All connections of a role; of the broker or the store: all connections to it. */
    | { readonly kind: 'cut'; readonly mode: (typeof cutModes)[number]; readonly forMs: number }
  );

export interface ScheduleOptions {
  readonly seed: number;
  readonly faults: number;
  readonly minutes: number;
}

export const ROUND = 12;
const FREEZES = 2;
const CUTS = 4;
/** Room at the end, so that the last fault has a run to recover in. */
const QUIET_END = 0.1;

type Deal =
  | { readonly target: Target; readonly kind: 'kill' | 'freeze' }
  | { readonly target: Target; readonly kind: 'cut'; readonly mode: (typeof cutModes)[number] };

/** Faults by time. */
export function scheduleOf({ seed, faults, minutes }: ScheduleOptions): readonly Fault[] {
  const random = createRandom(seed, 1);
  const spanMs = minutes * 60_000 * (1 - QUIET_END);
  return deals(random, faults).map((deal, i): Fault => {
    const atMs = Math.round(((i + 0.2 + 0.6 * random()) * spanMs) / faults);
    const strike = { atMs, target: deal.target, draw: random() };
    if (deal.kind === 'cut') return { ...strike, kind: 'cut', mode: deal.mode, forMs: 1_000 + Math.floor(random() * 14_000) };
    return deal.kind === 'kill' ? { ...strike, kind: 'kill' } : { ...strike, kind: 'freeze', forMs: 1_000 + Math.floor(random() * 39_000) };
  });
}

function deals(random: () => number, count: number): readonly Deal[] {
  const kills = targets.map((target) => ({ kind: 'kill', target }) as const);
  const freeze = deck(
    random,
    targets.map((target) => ({ kind: 'freeze', target }) as const),
  );
  const cut = deck(
    random,
    targets.flatMap((target) => cutModes.map((mode) => ({ kind: 'cut', target, mode }) as const)),
  );
  const dealt: Deal[] = [];
  while (dealt.length < count) dealt.push(...shuffled([...kills, ...freeze(FREEZES), ...cut(CUTS)], random));
  return dealt.slice(0, count);
}

/** Deals cards off a shuffled deck, which is shuffled anew when it is empty. */
function deck<T>(random: () => number, cards: readonly T[]): (count: number) => readonly T[] {
  let left: readonly T[] = [];
  return (count) =>
    Array.from({ length: count }).flatMap(() => {
      if (left.length === 0) left = shuffled(cards, random);
      const [card] = left;
      left = left.slice(1);
      return card === undefined ? [] : [card];
    });
}
