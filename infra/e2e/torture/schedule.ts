// The schedule of faults in a torture test: which, when, and how long. A function of the seed.
//
// Faults come in shuffled rounds: a kill of every target, two freezes, three cuts and one of each other kind. Variants of a fault are dealt
// from a deck of their own, so that eight rounds contain every kind on every target in every variant.
import { createRandom, shuffled } from '../../../streams/core/random.ts';
import type { ProxyMode } from './chaos-proxy.ts';

export const targets = ['trainer', 'worker', 'warehouse', 'store', 'broker', 'api'] as const;
/** In a run of an external trainer this process is struck as well; `trainer` is then the coordinator. */
export const EXTERNAL_TRAINER = 'external-trainer';
export type FaultTarget = (typeof targets)[number] | typeof EXTERNAL_TRAINER;

export const cutModes = ['refuse', 'reset', 'delay', 'black-hole'] as const satisfies readonly Exclude<ProxyMode, 'pass'>[];
/** Roles whose consumer group is deleted from Kafka. */
export const forgotten = ['warehouse', 'worker', 'trainer'] as const satisfies readonly FaultTarget[];
/** Topics that lose their newest records. The ledger must never lose any. */
export const tailTopics = ['rollouts', 'tasks'] as const;
/** Whose disk fills up: that of the store, or that of `up` and its roles, among which the trainer writes most. */
export const diskTargets = ['store', 'trainer'] as const satisfies readonly FaultTarget[];
export const clockTargets = ['worker', 'trainer', 'warehouse'] as const satisfies readonly FaultTarget[];
const HOUR_MS = 3_600_000;
export const clockJumps = [-HOUR_MS, HOUR_MS] as const;

/** A fault without its time and duration. */
type Deal =
  | { readonly kind: 'kill' | 'freeze'; readonly target: FaultTarget }
  /** All connections of a role; for the broker or the store: all connections to it. */
  | { readonly kind: 'cut'; readonly target: FaultTarget; readonly mode: (typeof cutModes)[number] }
  /** The role is down, and Kafka loses the offsets of its group. */
  | { readonly kind: 'forget'; readonly target: (typeof forgotten)[number] }
  /** All brokers lose power, and with it the newest acknowledged records of a partition. */
  | { readonly kind: 'tail'; readonly target: 'broker'; readonly topic: (typeof tailTopics)[number] }
  /** Retention deletes tasks, and the trainer has to resume without them. */
  | { readonly kind: 'retention'; readonly target: 'trainer' }
  /** A statement that makes the engine unresponsive in a live process. */
  | { readonly kind: 'engine'; readonly target: 'store' }
  | { readonly kind: 'disk'; readonly target: (typeof diskTargets)[number] }
  /** The wall clock of a role jumps, and jumps back. */
  | { readonly kind: 'clock'; readonly target: (typeof clockTargets)[number]; readonly byMs: number };

export type ScheduledFault = Deal & {
  readonly atMs: number;
  /** 0 for instantaneous faults. */
  readonly forMs: number;
  /** In [0, 1): selects one of several brokers, partitions or offsets. */
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
] satisfies readonly ScheduledFault['kind'][];
export type FaultOf<K extends ScheduledFault['kind']> = Extract<ScheduledFault, { readonly kind: K }>;

export interface ScheduleOptions {
  readonly seed: number;
  readonly faults: number;
  readonly minutes: number;
  /** Whether a disk can be filled here, which requires a mount. */
  readonly disks: boolean;
  /** Kinds of faults to use. Default: all. */
  readonly only?: readonly string[];
  /** Whether the trainer is an external one. */
  readonly external?: boolean;
}

const FREEZES = 2;
const CUTS = 3;
/** One each of forget, tail, retention, engine, disk and clock. */
const OTHERS = 6;
/** Number of faults in a round when disks can be filled. */
export const ROUND = targets.length + FREEZES + CUTS + OTHERS;
/** Fraction of time at the end without new faults, so that the run can recover from the last one. */
const QUIET_END = 0.1;

/** Minimum and maximum, ms: a freeze can be longer or shorter than a session, a transaction, and the silence limit. */
const durations: Readonly<Partial<Record<Deal['kind'], readonly [number, number]>>> = {
  freeze: [1_000, 25_000],
  cut: [1_000, 12_000],
  disk: [3_000, 10_000],
  clock: [5_000, 15_000],
};

/** Faults ordered by time. */
export function scheduleOf(options: ScheduleOptions): readonly ScheduledFault[] {
  const { seed, faults, minutes } = options;
  const random = createRandom(seed, 1);
  const spanMs = minutes * 60_000 * (1 - QUIET_END);
  return deals(random, options).map((deal, i): ScheduledFault => {
    const atMs = Math.round(((i + 0.2 + 0.6 * random()) * spanMs) / faults);
    const draw = random();
    const [least, most] = durations[deal.kind] ?? [0, 0];
    return { ...deal, atMs, forMs: least + Math.floor(random() * (most - least)), draw };
  });
}

function deals(random: () => number, { faults, disks, only = faultKinds, external = false }: ScheduleOptions): readonly Deal[] {
  const struck: readonly FaultTarget[] = external ? [...targets, EXTERNAL_TRAINER] : targets;
  const kills = struck.map((target): Deal => ({ kind: 'kill', target }));
  const deal = {
    freeze: deck(
      random,
      struck.map((target): Deal => ({ kind: 'freeze', target })),
    ),
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

const cuts = targets.flatMap((target) => cutModes.map((mode): Deal => ({ kind: 'cut', target, mode })));
const forgets = forgotten.map((target): Deal => ({ kind: 'forget', target }));
const tails = tailTopics.map((topic): Deal => ({ kind: 'tail', target: 'broker', topic }));
const retention: Deal = { kind: 'retention', target: 'trainer' };
const engine: Deal = { kind: 'engine', target: 'store' };
const diskFaults = diskTargets.map((target): Deal => ({ kind: 'disk', target }));
const clocks = clockTargets.flatMap((target) => clockJumps.map((byMs): Deal => ({ kind: 'clock', target, byMs })));

/** Deals cards from a shuffled deck, which is reshuffled when it is empty. */
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
