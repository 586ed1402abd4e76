// Caches responses of reads, so that many clients with the same request cost one read of the store.
// A response is fresh for `freshMs` after its read began, or for COST_FACTOR times the duration of the read (at most MOST_FRESH_MS),
// whichever is longer: a page that is read within a second takes at most a tenth of a reader's time. The next request after that reads
// again; meanwhile the others get the old response, for at most STALE_FACTOR times that long, so that a slow store does not make everyone
// wait. Without an old response they wait for the read. `maxBytes` limits the memory. With freshMs 0 nothing is cached or shared.
import type { Coding } from './codings.ts';
import { deferred } from '../../streams/core/waiting.ts';

export interface CachedAnswer {
  readonly body: Buffer;
  /** A weak ETag: the same for every encoding of the body. */
  readonly etag: string;
  readonly contentType: string;
  /** The body in the encodings that were requested so far. */
  readonly coded: Map<Coding, Buffer>;
}

/** What a request should do: use a response, wait for that of an identical request, or read it and share it. */
type CacheLookup =
  | { readonly kind: 'found'; readonly answer: CachedAnswer; readonly ageMs: number }
  | { readonly kind: 'wait'; readonly flight: Promise<CachedAnswer | undefined> }
  /** Call `end` with the response, or without one on failure; only the first call counts. */
  | { readonly kind: 'lead'; readonly end: (answer?: CachedAnswer) => void };

/** A response is fresh for this many times the duration of its read, up to MOST_FRESH_MS. */
const COST_FACTOR = 10;
const MOST_FRESH_MS = 10_000;
/** While a newer response is being read, an old one is used up to this many times its fresh period. */
const STALE_FACTOR = 5;

export interface AnswerCache {
  enter(url: string): CacheLookup;
}

interface FreshAnswer {
  readonly answer: CachedAnswer;
  readonly beganMs: number;
  /** How long a response is fresh, ms. */
  readonly freshMs: number;
}

/** `now` in ms, from a monotonic clock. */
export function createAnswerCache(options: {
  readonly freshMs: number;
  readonly maxBytes: number;
  readonly now: () => number;
}): AnswerCache {
  const { freshMs, maxBytes, now } = options;
  const kept = new Map<string, FreshAnswer>();
  const flights = new Map<string, Promise<CachedAnswer | undefined>>();
  let bytes = 0;

  function drop(url: string): void {
    const old = kept.get(url);
    if (old === undefined) return;
    kept.delete(url);
    bytes -= old.answer.body.length;
  }

  const isUsable = (one: FreshAnswer): boolean => now() - one.beganMs < one.freshMs * STALE_FACTOR;
  const isFresh = (one: FreshAnswer): boolean => now() - one.beganMs < one.freshMs;

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

  function lead(url: string): CacheLookup {
    const beganMs = now();
    const flight = deferred<CachedAnswer | undefined>();
    flights.set(url, flight.promise);
    return {
      kind: 'lead',
      end(answer) {
        if (flights.get(url) !== flight.promise) return;
        flights.delete(url);
        if (answer !== undefined) keep(url, answer, beganMs);
        flight.resolve(answer);
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
