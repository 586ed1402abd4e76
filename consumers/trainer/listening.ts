// Measures how long this trainer has listened to its workers. Silence counts only while the trainer could have heard them, so:
// - Silence is judged at `heardUpTo`: a time at which the end of `rollouts` was requested and up to which everything has since been folded.
//   A trainer that was stopped or fell behind first reads what was written meanwhile.
// - Time in which Kafka did not answer, or in which this process did not run, does not count: nobody could be heard then. Afterward every
//   running worker gets a new deadline, as after a restart.
// - The clock is monotonic and local to this process. Clocks of other machines are not used.
import type { CutWatch } from './cut-log.ts';

export interface Listening {
  /** Milliseconds of listening so far. It stands still while nothing can be heard. */
  now(): number;
  /** Everything written before this time of listening has been folded. */
  readonly heardUpTo: number;
  /** Number of interruptions so far. */
  readonly gaps: number;
  /** Silence may be judged at `heardUpTo`: almost nothing can have been written since. A trainer that is behind reads on first. */
  mayJudge(): boolean;
  /** Requests the end of the log when it is due. Call it often; it never waits and never throws. */
  look(): void;
  /** Call when positions have moved. */
  folded(): void;
}

export interface ListeningDeps {
  readonly watch: CutWatch;
  /** The next offset of `rollouts` to fold, by partition. */
  readonly positions: ReadonlyMap<number, number>;
  readonly monotonic: () => number;
  /** How long a worker may be silent, ms. */
  readonly silenceMs: number;
  /** Listening was interrupted and starts again. */
  readonly onInterrupted: (nowMs: number) => void;
}

const SHORTEST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 1_000;
const SHORTEST_GAP_MS = 1_000;
/** Longer than an iteration of the trainer's loop. */
const SHORTEST_AGE_MS = 500;

/** Interval between requests for the end of the log, ms. */
export const lookEveryMs = (silenceMs: number): number => Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, silenceMs / 10));

/**
 * Without an answer for longer than this, nothing could be heard, ms. Well below the silence limit, so that a gap is not mistaken for
 * silence.
 */
export const gapMs = (silenceMs: number): number => Math.max(SHORTEST_GAP_MS, silenceMs / 4);

/** Maximum age of a judgment, ms: workers that were silent then may have written since. */
const oldestMs = (silenceMs: number): number => Math.max(SHORTEST_AGE_MS, silenceMs / 10);

interface BoundsRequest {
  readonly atMs: number;
  readonly ends: Awaited<ReturnType<CutWatch['bounds']>>;
}

export function createListening({ watch, positions, monotonic, silenceMs, onInterrupted }: ListeningDeps): Listening {
  let lostMs = 0;
  let answeredMs = monotonic();
  let askedMs = -Infinity;
  let isAsking = false;
  let waitingFor: BoundsRequest | undefined;
  let heardUpTo = -Infinity;
  let gaps = 0;

  const now = (): number => monotonic() - lostMs;

  function noteAnswer(): void {
    const atMs = monotonic();
    const goneMs = atMs - answeredMs;
    answeredMs = atMs;
    if (goneMs <= gapMs(silenceMs)) return;
    lostMs += goneMs;
    gaps += 1;
    // requests from before belong to the time that does not count
    waitingFor = undefined;
    onInterrupted(now());
  }

  async function ask(): Promise<void> {
    const lostBefore = lostMs;
    const atMs = now();
    const ends = await watch.bounds('rollouts');
    noteAnswer();
    if (lostMs === lostBefore) waitingFor ??= { atMs, ends };
    folded();
  }

  function folded(): void {
    if (waitingFor === undefined) return;
    const { atMs, ends } = waitingFor;
    // records that retention has deleted are never delivered
    if (!ends.every(({ partition, first, end }) => Math.max(first, positions.get(partition) ?? 0) >= end)) return;
    heardUpTo = atMs;
    waitingFor = undefined;
  }

  return {
    now,
    folded,
    mayJudge: () => now() - heardUpTo <= oldestMs(silenceMs),
    get heardUpTo() {
      return heardUpTo;
    },
    get gaps() {
      return gaps;
    },
    look() {
      if (isAsking || monotonic() - askedMs < lookEveryMs(silenceMs)) return;
      isAsking = true;
      askedMs = monotonic();
      // the feed reports an outage; here it counts as a gap
      ask()
        .catch(() => undefined)
        .finally(() => {
          isAsking = false;
        });
    },
  };
}
