// How long this trainer has listened to its workers. Silence is evidence only while a word could have been heard, so:
//
// - Silence is judged at `heardUpTo`: a moment at which the end of `rollouts` was asked for and up to which everything has
//   been folded since. A trainer that was stopped, or fell behind, first reads what was written meanwhile.
// - Time in which Kafka did not answer, or in which this process did not run, does not count. Nobody could speak then, or
//   nobody knows who could. Whoever was running gets a new deadline afterwards, as after a restart.
// - The clock is monotonic and this process's own. No clock of another machine is looked at.
import type { CutWatch } from './cut-log.ts';

export interface Listening {
  /** Milliseconds of listening until now. It stands still while nothing could be heard. */
  now(): number;
  /** Everything that was written before this moment of listening has been folded. */
  readonly heardUpTo: number;
  /** Silence may be judged at `heardUpTo`: hardly anything can have been written since. A trainer that is behind reads on first. */
  mayJudge(): boolean;
  /** Asks for the end of the log when it is time to. To be called often; never waits, never throws. */
  look(): void;
  /** To be called when positions have moved. */
  folded(): void;
}

export interface ListeningDeps {
  readonly watch: CutWatch;
  /** The next offset of `rollouts` to be folded, by partition. */
  readonly positions: ReadonlyMap<number, number>;
  readonly monotonic: () => number;
  /** How long a worker may be silent, ms. */
  readonly silenceMs: number;
  /** Listening was interrupted and begins anew. */
  readonly onInterrupted: (nowMs: number) => void;
}

const SHORTEST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 1_000;
const SHORTEST_GAP_MS = 1_000;
/** Longer than a turn of the trainer's loop. */
const SHORTEST_AGE_MS = 500;

/** How often the end of the log is asked for, ms. */
export const lookEveryMs = (silenceMs: number): number => Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, silenceMs / 10));

/** Without an answer for longer than this, nothing could be heard, ms. Well below the silence, so that a gap is not taken for one. */
export const gapMs = (silenceMs: number): number => Math.max(SHORTEST_GAP_MS, silenceMs / 4);

/** A judgement of a moment that is longer past is not made, ms: workers that were silent then may have spoken since. */
const oldestMs = (silenceMs: number): number => Math.max(SHORTEST_AGE_MS, silenceMs / 10);

interface Asked {
  readonly atMs: number;
  readonly ends: Awaited<ReturnType<CutWatch['bounds']>>;
}

export function createListening({ watch, positions, monotonic, silenceMs, onInterrupted }: ListeningDeps): Listening {
  let lostMs = 0;
  let answeredMs = monotonic();
  let askedMs = -Infinity;
  let isAsking = false;
  let waitingFor: Asked | undefined;
  let heardUpTo = -Infinity;

  const now = (): number => monotonic() - lostMs;

  function noteAnswer(): void {
    const atMs = monotonic();
    const goneMs = atMs - answeredMs;
    answeredMs = atMs;
    if (goneMs <= gapMs(silenceMs)) return;
    lostMs += goneMs;
    // what was asked before lies in the time that does not count
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
    // what retention has deleted is not delivered any more
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
    look() {
      if (isAsking || monotonic() - askedMs < lookEveryMs(silenceMs)) return;
      isAsking = true;
      askedMs = monotonic();
      // an outage shows in the feed, and here as a gap
      ask()
        .catch(() => undefined)
        .finally(() => {
          isAsking = false;
        });
    },
  };
}
