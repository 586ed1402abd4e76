// Reads attempts from the log, in the order that they are asked for, while the log has them in the order that they happened: their records lie
// between each other's. One pass over the log holds the tokens of the attempts that began before the one that is due is whole, and no more of
// them than fit into a bound. Those that do not fit are left to another pass, the last that are due first.
import type { LogRecord } from '../../../streams/core/ports.ts';
import { eventsOf, type RunSource } from '../../../streams/core/read-log.ts';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import { bytesOfTurn, keepTurn, turnOfEvent } from '../../../streams/rows/keep-turn.ts';
import { tokensIn } from '../../../streams/rows/read-tokens.ts';
import type { RecordedTurn } from '../../../streams/rows/token-turn.ts';

const HELD_BYTES = 64 * 1024 * 1024;

/** An attempt that rows are made of. */
export interface WantedAttempt {
  readonly group_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
}

export interface ReadAttempt<W extends WantedAttempt = WantedAttempt> {
  readonly wanted: W;
  /** Empty when no turn of it was found. */
  readonly purpose: string;
  /** In their order, each once. */
  readonly turns: readonly RecordedTurn[];
}

/** Where the records of the attempts lie; by default anywhere. */
export interface AttemptRange {
  readonly from?: ReadonlyMap<number, number>;
  readonly to?: ReadonlyMap<number, number>;
  readonly signal?: AbortSignal;
}

export const keyOfAttempt = ({ trajectory_id: id, attempt }: Omit<WantedAttempt, 'group_id'>): string => `${id}/${attempt}`;

interface HeldAttempt<W> {
  readonly wanted: W;
  readonly turns: Map<number, RecordedTurn>;
  /** Sequences of its records. */
  readonly seen: Set<number>;
  /** Sequence of its end; infinite before it was read. */
  end: number;
  bytes: number;
}

/** The first of the wanted attempts in their order: all of them, or as many as fit into the bound. */
export async function* readAttempts<W extends WantedAttempt>(
  source: RunSource,
  wanted: readonly W[],
  range: AttemptRange = {},
  heldBytes = HELD_BYTES,
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
  /** Those that are due, in their order. */
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

  /** The next that is due, when all of its records were read. */
  nextWhole(): ReadAttempt<W> | undefined {
    const due = this.#due[this.#at];
    return due !== undefined && due.seen.size > due.end ? this.next() : undefined;
  }

  /** The next that is due, with what was read of it. */
  next(): ReadAttempt<W> | undefined {
    const due = this.#due[this.#at];
    if (due === undefined) return undefined;
    this.#at += 1;
    this.#drop(due);
    const turns = [...due.turns.values()].sort((a, b) => a.sequence - b.sequence);
    return { wanted: due.wanted, purpose: turns[0]?.purpose ?? '', turns };
  }

  /** The attempt of a record that was not read before. */
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
