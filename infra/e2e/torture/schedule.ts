// The faults of a torture: which, when, for how long. A function of the seed.
//
// They come in shuffled rounds: a kill of every target, two freezes, three cuts and one of each of the other strikes. What has
// several forms is dealt from a deck of its own, so that eight rounds hold every kind on every target in every form.
import { createRandom, shuffled } from '../../../streams/core/random.ts';
import type { ProxyMode } from './chaos-proxy.ts';

export const targets = ['trainer', 'worker', 'warehouse', 'store', 'broker', 'api'] as const;
export type Target = (typeof targets)[number];

export const cutModes = ['refuse', 'reset', 'delay', 'black-hole'] as const satisfies readonly Exclude<ProxyMode, 'pass'>[];
/** Roles whose consumer group Kafka forgets. */
export const forgotten = ['warehouse', 'worker', 'trainer'] as const satisfies readonly Target[];
/** Topics whose newest records are lost. The ledger is the one thing that cannot lose any. */
export const tailTopics = ['rollouts', 'tasks'] as const;
/** Whose disk is full: that of the store, or that of `up` and its roles, of which the trainer writes most. */
export const diskTargets = ['store', 'trainer'] as const satisfies readonly Target[];
export const clockTargets = ['worker', 'trainer', 'warehouse'] as const satisfies readonly Target[];
const HOUR_MS = 3_600_000;
export const clockJumps = [-HOUR_MS, HOUR_MS] as const;

/** What is done, apart from when and how long. */
type Deal =
  | { readonly kind: 'kill' | 'freeze'; readonly target: Target }
  /** All connections of a role; of the broker or the store: all connections to it. */
  | { readonly kind: 'cut'; readonly target: Target; readonly mode: (typeof cutModes)[number] }
  /** The role is down, and Kafka forgets the offsets of its group. */
  | { readonly kind: 'forget'; readonly target: (typeof forgotten)[number] }
  /** All brokers lose power, and with it the newest acknowledged records of a partition. */
  | { readonly kind: 'tail'; readonly target: 'broker'; readonly topic: (typeof tailTopics)[number] }
  /** Retention takes tasks, and the trainer has to resume without them. */
  | { readonly kind: 'retention'; readonly target: 'trainer' }
  /** A statement after which the engine answers nothing, in a process that lives. */
  | { readonly kind: 'engine'; readonly target: 'store' }
  | { readonly kind: 'disk'; readonly target: (typeof diskTargets)[number] }
  /** The wall clock of a role jumps, and back again. */
  | { readonly kind: 'clock'; readonly target: (typeof clockTargets)[number]; readonly byMs: number };

export type Fault = Deal & {
  readonly atMs: number;
  /** 0 when it is over at once. */
  readonly forMs: number;
  /** In [0, 1): which of several brokers, partitions or offsets is meant. */
  readonly draw: number;
};
export const faultKinds: readonly string[] = [
  'kill',
  'freeze',
  'cut',
  'forget',
  'tail',
  'retention',
  'engine',
  'disk',
  'clock',
] satisfies readonly Fault['kind'][];
export type FaultOf<K extends Fault['kind']> = Extract<Fault, { readonly kind: K }>;

export interface ScheduleOptions {
  readonly seed: number;
  readonly faults: number;
  readonly minutes: number;
  /** Whether a disk can be filled here, which needs a mount. */
  readonly disks: boolean;
  /** Kinds of faults that are left in; all of them unless given. */
  readonly only?: readonly string[];
}

const FREEZES = 2;
const CUTS = 3;
/** One of each of forget, tail, retention, engine, disk and clock. */
const OTHERS = 6;
/** Faults of a round where disks can be filled. */
export const ROUND = targets.length + FREEZES + CUTS + OTHERS;
/** Room at the end, so that the last fault has a run to recover in. */
const QUIET_END = 0.1;

/** Shortest and longest, ms: a freeze outlasts a session, a transaction and the limit of silence, or none of them. */
const durations: Readonly<Partial<Record<Deal['kind'], readonly [number, number]>>> = {
  freeze: [1_000, 25_000],
  cut: [1_000, 12_000],
  disk: [3_000, 10_000],
  clock: [5_000, 15_000],
};

/** Faults by time. */
export function scheduleOf(options: ScheduleOptions): readonly Fault[] {
  const { seed, faults, minutes } = options;
  const random = createRandom(seed, 1);
  const spanMs = minutes * 60_000 * (1 - QUIET_END);
  return deals(random, options).map((deal, i): Fault => {
    const atMs = Math.round(((i + 0.2 + 0.6 * random()) * spanMs) / faults);
    const draw = random();
    const [least, most] = durations[deal.kind] ?? [0, 0];
    return { ...deal, atMs, forMs: least + Math.floor(random() * (most - least)), draw };
  });
}

function deals(random: () => number, { faults, disks, only = faultKinds }: ScheduleOptions): readonly Deal[] {
  const deal = {
    freeze: deck(random, freezes),
    cut: deck(random, cuts),
    forget: deck(random, forgets),
    tail: deck(random, tails),
    disk: deck(random, disks ? diskFaults : []),
    clock: deck(random, clocks),
  };
  const dealt: Deal[] = [];
  while (dealt.length < faults) {
    const [freeze, cut] = [deal.freeze(FREEZES), deal.cut(CUTS)];
    const others = [...deal.forget(1), ...deal.tail(1), retention, engine, ...deal.disk(1), ...deal.clock(1)];
    const round = [...kills, ...freeze, ...cut, ...others].filter(({ kind }) => only.includes(kind));
    if (round.length === 0) throw new RangeError(`none of ${only.join(', ')} can be struck here; there are ${faultKinds.join(', ')}`);
    dealt.push(...shuffled(round, random));
  }
  return dealt.slice(0, faults);
}

const kills = targets.map((target): Deal => ({ kind: 'kill', target }));
const freezes = targets.map((target): Deal => ({ kind: 'freeze', target }));
const cuts = targets.flatMap((target) => cutModes.map((mode): Deal => ({ kind: 'cut', target, mode })));
const forgets = forgotten.map((target): Deal => ({ kind: 'forget', target }));
const tails = tailTopics.map((topic): Deal => ({ kind: 'tail', target: 'broker', topic }));
const retention: Deal = { kind: 'retention', target: 'trainer' };
const engine: Deal = { kind: 'engine', target: 'store' };
const diskFaults = diskTargets.map((target): Deal => ({ kind: 'disk', target }));
const clocks = clockTargets.flatMap((target) => clockJumps.map((byMs): Deal => ({ kind: 'clock', target, byMs })));

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
