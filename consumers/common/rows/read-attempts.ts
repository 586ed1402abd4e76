// Reads attempts from the log in the requested order. In the log, records of different attempts are interleaved, so a pass buffers the
// tokens of later attempts until the next requested one is complete. The buffer is bounded: when it is full, the attempts that were
// requested last are dropped and left to another pass.
import type { LogRecord } from '../../../streams/core/ports.ts';
import { eventsOf, type RunSource } from '../../../streams/core/read-log.ts';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import { bytesOfTurn, keepTurn, turnOfEvent } from '../../../streams/rows/keep-turn.ts';
import { tokensIn } from '../../../streams/rows/read-tokens.ts';
import type { RecordedTurn } from '../../../streams/rows/token-turn.ts';

const HELD_BYTES = 64 * 1024 * 1024;

/** An attempt to read. */
export interface WantedAttempt {
  readonly group_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
}

export interface ReadAttempt<W extends WantedAttempt = WantedAttempt> {
  readonly wanted: W;
  /** Empty if the log holds none of its turns. */
  readonly purpose: string;
  /** Ordered by sequence, without duplicates. */
  readonly turns: readonly RecordedTurn[];
  /** False if records of it are missing in the range that was read. */
  readonly isWhole: boolean;
}

/** The offsets to read, per partition; by default all. */
export interface AttemptRange {
  readonly from?: ReadonlyMap<number, number>;
  readonly to?: ReadonlyMap<number, number>;
  readonly signal?: AbortSignal;
  /** Size limit of the buffer, bytes; 64 MiB by default. */
  readonly heldBytes?: number;
}

export const keyOfAttempt = ({ trajectory_id: id, attempt }: Omit<WantedAttempt, 'group_id'>): string => `${id}/${attempt}`;

interface HeldAttempt<W> {
  readonly wanted: W;
  readonly turns: Map<number, RecordedTurn>;
  /** Sequence numbers of the records read so far. */
  readonly seen: Set<number>;
  /** Sequence number of its last record; infinite until that is read. */
  end: number;
  bytes: number;
}

const isWhole = ({ seen, end }: HeldAttempt<unknown>): boolean => seen.size > end;

/** Yields the wanted attempts in order: all of them, or only the first ones if the buffer becomes full, but at least one. */
export async function* readAttempts<W extends WantedAttempt>(
  source: RunSource,
  wanted: readonly W[],
  { heldBytes = HELD_BYTES, ...range }: AttemptRange = {},
): AsyncGenerator<ReadAttempt<W>, void, undefined> {
  const pass = new AttemptPass(wanted, heldBytes);
  const groups = new Set(wanted.map(({ group_id: id }) => id));
  const wants = ({ key }: LogRecord): boolean => key !== null && groups.has(key.toString());
  for await (const read of eventsOf(source, 'rollouts', { ...range, wants })) {
    if (read.ok) pass.take(read.value, source.runId);
    for (let next = pass.nextWhole(); next !== undefined; next = pass.nextWhole()) yield next;
    if (pass.isOver) return;
  }
  for (let next = pass.next(); next !== undefined; next = pass.next()) yield next;
}

class AttemptPass<W extends WantedAttempt> {
  readonly #held = new Map<string, HeldAttempt<W>>();
  /** In the requested order. Those from `#at` on have not been returned yet. */
  readonly #due: HeldAttempt<W>[];
  #at = 0;
  #bytes = 0;
  readonly #most: number;

  constructor(wanted: readonly W[], most: number) {
    this.#due = wanted.map((one) => ({ wanted: one, turns: new Map(), seen: new Set(), end: Infinity, bytes: 0 }));
    for (const one of this.#due) this.#held.set(keyOfAttempt(one.wanted), one);
    this.#most = most;
  }

  get isOver(): boolean {
    return this.#at >= this.#due.length;
  }

  take(value: DecodedEvent, runId: string): void {
    if (value.type === 'TurnRecorded') {
      const turn = value.plain === undefined ? turnOfEvent(value.event) : tokensIn(value.plain);
      const held = turn.run_id === runId ? this.#noted(turn) : undefined;
      if (held !== undefined) this.#keep(held, turn);
    } else if (value.type === 'TrajectoryStarted' || value.type === 'TrajectoryFinished') {
      const { event } = value;
      const held = event.run_id === runId ? this.#noted(event) : undefined;
      if (held !== undefined && value.type === 'TrajectoryFinished') held.end = event.sequence;
    }
  }

  /** Returns the next attempt once all of its records are read. */
  nextWhole(): ReadAttempt<W> | undefined {
    const due = this.#due[this.#at];
    return due !== undefined && isWhole(due) ? this.next() : undefined;
  }

  /** Returns the next attempt with the records read so far. */
  next(): ReadAttempt<W> | undefined {
    const due = this.#due[this.#at];
    if (due === undefined) return undefined;
    this.#at += 1;
    this.#drop(due);
    const turns = [...due.turns.values()].sort((a, b) => a.sequence - b.sequence);
    return { wanted: due.wanted, purpose: turns[0]?.purpose ?? '', turns, isWhole: isWhole(due) };
  }

  /** Returns the attempt of a record; undefined for a duplicate and for an attempt that is not wanted. */
  #noted(place: { readonly trajectory_id: string; readonly attempt: number; readonly sequence: number }): HeldAttempt<W> | undefined {
    const held = this.#held.get(keyOfAttempt(place));
    if (held === undefined || held.seen.has(place.sequence)) return undefined;
    held.seen.add(place.sequence);
    return held;
  }

  #keep(held: HeldAttempt<W>, turn: RecordedTurn): void {
    const kept = keepTurn(turn);
    held.turns.set(turn.sequence, kept);
    const bytes = bytesOfTurn(kept);
    held.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#most && this.#due.length > this.#at + 1) {
      const last = this.#due.pop();
      if (last !== undefined) this.#drop(last);
    }
  }

  #drop(held: HeldAttempt<W>): void {
    this.#held.delete(keyOfAttempt(held.wanted));
    this.#bytes -= held.bytes;
  }
}
