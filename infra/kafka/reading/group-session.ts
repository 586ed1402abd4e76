// What a member may do in one generation of its group. A session of an older generation rejects everything itself, because the broker
// checks only who is a member, not who owns a partition.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { GroupSession, Position } from '../../../streams/core/ports.ts';
import { pause } from '../../lifecycle/waiting.ts';
import type { TopicAssignment, ConsumerInstance, OffsetsToCommit } from './consumer-instance.ts';
import { isFinal, isGroupFence, kafkaError } from '../kafka-error.ts';
import type { TopicNames } from '../names.ts';

const RETRY_MS = 100;

export interface SessionOptions {
  readonly group: string;
  readonly names: TopicNames;
  readonly assigned: readonly TopicAssignment[];
  readonly instance: ConsumerInstance;
  /** How long commits are retried while the coordinator does not answer, ms. */
  readonly patienceMs: number;
}

export class KafkaGroupSession implements GroupSession {
  /** Resolves when the owner of the session has named its start positions; rejects when that fails. */
  ready: Promise<void> = Promise.resolve();
  isReady = false;
  readonly #options: SessionOptions;
  readonly #owned: ReadonlySet<string>;
  #over = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#owned = new Set(options.assigned.flatMap(({ topic, partitions }) => partitions.map((partition) => `${topic}/${partition}`)));
  }

  isOver(): boolean {
    return this.#over || this.#options.instance.isOver();
  }

  /** Ends the session: the member is joining a new generation, or has left. */
  end(): void {
    this.#over = true;
  }

  async commit(positions: readonly (Position & { readonly metadata?: string })[]): Promise<void> {
    if (positions.length === 0) return;
    const doing = `committing offsets of ${this.#options.group}`;
    const offsets = this.#offsetsOf(positions);
    const deadline = performance.now() + this.#options.patienceMs;
    for (;;) {
      this.#assertOwned(doing, offsets);
      try {
        await this.#options.instance.commit(offsets);
        return;
      } catch (error) {
        if (isGroupFence(error)) throw this.#fence(doing, error);
        if (isFinal(error) || performance.now() >= deadline) throw kafkaError(doing, error);
        await pause(RETRY_MS);
      }
    }
  }

  /** Heartbeats run in the background; this call tells whether the session is still valid. */
  async heartbeat(): Promise<void> {
    if (this.isOver()) throw this.#fence(`working for ${this.#options.group}`);
  }

  #assertOwned(doing: string, offsets: OffsetsToCommit): void {
    const owned = offsets.topics.every(({ topic, partitions }) =>
      partitions.every(({ partition }) => this.#owned.has(`${topic}/${partition}`)),
    );
    if (this.isOver() || !owned) throw this.#fence(doing);
  }

  #fence(doing: string, cause?: unknown): PlatformError {
    return new PlatformError('GROUP_FENCED', `${doing}: the group has gone on without this member`, { cause });
  }

  #offsetsOf(positions: readonly (Position & { readonly metadata?: string })[]): OffsetsToCommit {
    const { names } = this.#options;
    const byTopic = new Map<string, { partition: number; offset: string; metadata: string | null }[]>();
    for (const { topic, partition, offset, metadata } of positions) {
      const full = names.full(topic);
      const entry = { partition, offset: String(offset), metadata: metadata ?? null };
      const entries = byTopic.get(full);
      if (entries === undefined) byTopic.set(full, [entry]);
      else entries.push(entry);
    }
    return { topics: [...byTopic].map(([topic, partitions]) => ({ topic, partitions })) };
  }
}
