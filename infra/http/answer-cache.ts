// Answers of reads that were just given, so that many clients that ask the same at once cost one read of the store.
// An answer is fresh for `freshMs` after its read began, or for COST_FACTOR times as long as the read took, whichever is longer:
// however often a page is asked for, it takes at most a tenth of a reader's time. Then the next request reads anew, and until that
// is done the others still get the old answer, for STALE_FACTOR times that long at most, so that a slow store does not make
// everyone wait. Where there is no old answer they wait for the read. Memory is bounded by `maxBytes`. With freshMs 0 nothing
// is kept or shared.
import type { Coding } from './codings.ts';

export interface CachedAnswer {
  readonly body: Buffer;
  /** Weak: the same for every coding of the body. */
  readonly etag: string;
  readonly contentType: string;
  /** The body in the codings that were asked for so far. */
  readonly coded: Map<Coding, Buffer>;
}

/** What a request is to do: use an answer, wait for that of an equal request, or answer and tell the others. */
type Entry =
  | { readonly kind: 'found'; readonly answer: CachedAnswer; readonly ageMs: number }
  | { readonly kind: 'wait'; readonly flight: Promise<CachedAnswer | undefined> }
  /** Call `end` with the answer, or with nothing when there is none; only the first call counts. */
  | { readonly kind: 'lead'; readonly end: (answer?: CachedAnswer) => void };

/** An answer is fresh for this many times as long as it took. */
const COST_FACTOR = 10;
const MOST_FRESH_MS = 10_000;
/** An answer is used while a newer one is being read until it is this many times as old as a fresh one may be. */
const STALE_FACTOR = 5;

export interface AnswerCache {
  enter(url: string): Entry;
}

interface Kept {
  readonly answer: CachedAnswer;
  readonly beganMs: number;
  /** How long it is fresh. */
  readonly freshMs: number;
}

/** `now` in ms, of a clock that does not jump. */
export function createAnswerCache(options: {
  readonly freshMs: number;
  readonly maxBytes: number;
  readonly now: () => number;
}): AnswerCache {
  const { freshMs, maxBytes, now } = options;
  const kept = new Map<string, Kept>();
  const flights = new Map<string, Promise<CachedAnswer | undefined>>();
  let bytes = 0;

  function drop(url: string): void {
    const old = kept.get(url);
    if (old === undefined) return;
    kept.delete(url);
    bytes -= old.answer.body.length;
  }

  const isUsable = (one: Kept): boolean => now() - one.beganMs < one.freshMs * STALE_FACTOR;
  const isFresh = (one: Kept): boolean => now() - one.beganMs < one.freshMs;

  function keep(url: string, answer: CachedAnswer, beganMs: number): void {
    drop(url);
    if (answer.body.length > maxBytes / 8) return;
    const costMs = Math.min(MOST_FRESH_MS, COST_FACTOR * (now() - beganMs));
    kept.set(url, { answer, beganMs, freshMs: Math.max(freshMs, costMs) });
    bytes += answer.body.length;
    for (const [oldest, one] of kept) {
      if (bytes <= maxBytes && isUsable(one)) break;
      drop(oldest);
    }
  }

  function lead(url: string): Entry {
    const beganMs = now();
    let tell: (answer: CachedAnswer | undefined) => void = () => undefined;
    const flight = new Promise<CachedAnswer | undefined>((resolve) => {
      tell = resolve;
    });
    flights.set(url, flight);
    return {
      kind: 'lead',
      end(answer) {
        if (flights.get(url) !== flight) return;
        flights.delete(url);
        if (answer !== undefined) keep(url, answer, beganMs);
        tell(answer);
      },
    };
  }

  return {
    enter(url) {
      if (freshMs <= 0) return { kind: 'lead', end: () => undefined };
      const found = kept.get(url);
      const flight = flights.get(url);
      if (found !== undefined && (flight === undefined ? isFresh(found) : isUsable(found))) {
        return { kind: 'found', answer: found.answer, ageMs: now() - found.beganMs };
      }
      return flight === undefined ? lead(url) : { kind: 'wait', flight };
    },
  };
}
