// The replay buffer: the newest units, limited by number and by bytes, whichever is reached first. A unit is a trajectory, or a single
// decision in runs that recorded no trajectories. The content depends only on what was added, not on how much of it is in memory or on
// disk. The buffer ends with its process.
import { countOf, type Decisions, type Packed } from './decisions.ts';
import type { Hyper } from './hyper.ts';
import { numberAt } from './number-at.ts';
import { packDecisions, unpackDecisions } from './replay-codec.ts';
import type { Spill, Spilled } from './replay-spill.ts';

export interface ReplayBuffer {
  add(packed: Pick<Packed, 'decisions' | 'trajectories'>): void;
  /** Samples with replacement; returns fewer only while the buffer holds fewer. */
  sample(count: number, random: () => number): readonly Decisions[];
  readonly units: number;
  /** Size of the units, in memory and on disk. */
  readonly bytes: number;
  readonly memoryBytes: number;
  close(): void;
}

export interface ReplayBufferOptions {
  readonly hyper: Pick<Hyper, 'replayCapacity' | 'replayBytes' | 'replayTrajectories'>;
  /** Moves the oldest units to disk once those in memory exceed this many bytes; without it everything stays in memory. */
  readonly spill?: { readonly to: Spill; readonly memoryBytes: number };
}

interface ReplayUnit {
  readonly bytes: number;
  readonly width: number;
  /** Exactly one of the two is set. */
  block: Uint8Array | undefined;
  spilled: Spilled | undefined;
}

export function createReplay(options: ReplayBufferOptions): ReplayBuffer {
  return new Buffered(options);
}

class Buffered implements ReplayBuffer {
  readonly #options: ReplayBufferOptions;
  #units: ReplayUnit[] = [];
  #bytes = 0;
  #memoryBytes = 0;
  /** Number of units on disk: the oldest ones. */
  #spilled = 0;

  constructor(options: ReplayBufferOptions) {
    this.#options = options;
  }

  get units(): number {
    return this.#units.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  add({ decisions, trajectories }: Pick<Packed, 'decisions' | 'trajectories'>): void {
    const whole = this.#options.hyper.replayTrajectories > 0;
    const bounds = whole ? [...trajectories] : Array.from({ length: countOf(decisions) + 1 }, (_, at) => at);
    for (let i = 0; i + 1 < bounds.length; i += 1) {
      const [from = 0, to = 0] = [bounds[i], bounds[i + 1]];
      if (to > from) this.#put(packDecisions(decisions, from, to), decisions.width);
    }
    this.#forget();
    this.#moveToDisk();
  }

  sample(count: number, random: () => number): readonly Decisions[] {
    const drawn = Array.from({ length: Math.min(count, this.#units.length) }, () => this.#units[Math.floor(random() * this.#units.length)]);
    return drawn.flatMap((unit) => (unit === undefined ? [] : [this.#read(unit)]));
  }

  close(): void {
    this.#units = [];
    this.#options.spill?.to.close();
  }

  #put(block: Uint8Array, width: number): void {
    this.#units.push({ bytes: block.byteLength, width, block, spilled: undefined });
    this.#bytes += block.byteLength;
    this.#memoryBytes += block.byteLength;
  }

  /** The newest unit stays, whatever its size. */
  #forget(): void {
    const { replayCapacity, replayBytes } = this.#options.hyper;
    const limit = replayBytes > 0 ? replayBytes : Infinity;
    let gone = 0;
    while (this.#units.length - gone > replayCapacity || (this.#bytes > limit && gone < this.#units.length - 1)) {
      const unit = this.#units[gone];
      if (unit === undefined) break;
      this.#bytes -= unit.bytes;
      if (unit.spilled === undefined) this.#memoryBytes -= unit.bytes;
      else this.#options.spill?.to.drop(unit.spilled);
      gone += 1;
    }
    this.#units = this.#units.slice(gone);
    this.#spilled = Math.max(0, this.#spilled - gone);
  }

  #moveToDisk(): void {
    const { spill } = this.#options;
    if (spill === undefined) return;
    for (; this.#memoryBytes > spill.memoryBytes && this.#spilled < this.#units.length; this.#spilled += 1) {
      const unit = this.#units[this.#spilled];
      if (unit?.block === undefined) continue;
      unit.spilled = spill.to.write(unit.block);
      unit.block = undefined;
      this.#memoryBytes -= unit.bytes;
    }
  }

  #read({ block, spilled, width }: ReplayUnit): Decisions {
    if (block !== undefined) return unpackDecisions(block, width);
    const { spill } = this.#options;
    if (spill === undefined || spilled === undefined) throw new RangeError('reading the replay buffer: a unit is nowhere');
    return unpackDecisions(spill.to.read(spilled), width);
  }
}

/** Concatenates several parts in chunks of at most this many rows; a part is never split. */
export function chunksOf(parts: readonly Decisions[], maxRows: number): readonly (readonly Decisions[])[] {
  const chunks: Decisions[][] = [];
  let rows = Infinity;
  for (const part of parts) {
    const own = numberAt(part.starts, countOf(part));
    if (rows + own > maxRows) {
      chunks.push([]);
      rows = 0;
    }
    chunks.at(-1)?.push(part);
    rows += own;
  }
  return chunks;
}
