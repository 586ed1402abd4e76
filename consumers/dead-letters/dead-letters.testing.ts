// Shared by the tests of dead letters: a log with letters in it.
import { LETTER_HEADER, frame } from '../../schemas/framing.ts';
import { beforeEach } from 'vitest';
import { createEventReader } from '../../infra/registry/event-reader.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { createMemoryRegistry } from '../../infra/testing/memory-registry.ts';
import { createCodec } from '../../schemas/codec.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogRecord } from '../../streams/core/ports.ts';
import { deadLetterEvent } from '../warehouse/dead-letter.step.ts';
import type { DeadLetter } from './letters.ts';
import { readLetters } from './read-letters.ts';
import { retryLetters, type RetryChoice, type RetryDeps, type RetryLine, type RetryWriter } from './retry.ts';

export const context = { producer: 'warehouse-1', nowMs: Date.UTC(2026, 10, 21), maxBytes: 1_000 };

const codec = createCodec();

const reader = createEventReader(codec, createMemoryRegistry());

export class DeadLettersWorld {
  readonly log = new MemoryLog({ codec });
  readonly #known = new Set<number>();
  /** The next commit succeeds, but its response is lost. */
  loseAnswer = false;

  /** Decodes records with the codec; a record whose schema id was passed to `register` reads as a valid turn. */
  readonly events: EventReader = {
    read: (record) => {
      if (record.value === null || !this.#known.has(record.value.readUInt32BE(1))) return reader.read(record);
      return { ok: true, record, value: { type: 'TurnRecorded', event: randomEvent('TurnRecorded', seeded(1)) } };
    },
  };

  register(id: number): void {
    this.#known.add(id);
  }

  put(topic: EventTopic, value: Buffer | null, headers: Readonly<Record<string, string>> = {}): LogRecord {
    const [{ partition, offset } = { partition: -1, offset: -1 }] = this.log.appendRaw(topic, [{ key: 'g1', value, headers }]);
    const found = this.log.records(topic).find((record) => record.partition === partition && record.offset === offset);
    if (found === undefined) throw new Error('not there');
    return found;
  }

  /** Writes a dead letter as the sink does for a record that it cannot store. */
  async bury(record: LogRecord, options: { reason?: string; table?: 'turns'; maxBytes?: number } = {}): Promise<void> {
    const { reason = 'unknown_schema', table, maxBytes = 1_000 } = options;
    const unstorable = { record, reason, error: 'schema id 7 is not known', ...(table === undefined ? {} : { table }) };
    await this.log.writer().append([deadLetterEvent(unstorable, { ...context, maxBytes })]);
  }

  letters(): Promise<readonly DeadLetter[]> {
    return readLetters({ log: this.log.reader(), events: this.events });
  }

  async openWriter(): Promise<RetryWriter> {
    const writer = await this.log.transactional('retry');
    return {
      commit: async ({ records, events }) => {
        await writer.commit({ events });
        for (const { topic, ...record } of records) this.log.appendRaw(topic, [record]);
        if (!this.loseAnswer) return;
        this.loseAnswer = false;
        throw new PlatformError('KAFKA_UNAVAILABLE', 'the answer was lost');
      },
      close: () => writer.close(),
    };
  }

  deps(): RetryDeps {
    return { log: this.log.reader(), events: this.events, openWriter: () => this.openWriter(), producer: 'test', nowMs: () => 5_000 };
  }

  retry(choice: Partial<RetryChoice> = {}): Promise<readonly RetryLine[]> {
    return retryLetters(this.deps(), { letters: {}, force: false, dryRun: false, ...choice });
  }

  returned(topic: EventTopic = 'rollouts'): readonly LogRecord[] {
    return this.log.records(topic).filter((record) => LETTER_HEADER in record.headers);
  }
}

export let world: DeadLettersWorld;

/** Call it at the top level of a test file. */
export function setUpDeadLetters(): void {
  beforeEach(() => {
    world = new DeadLettersWorld();
  });
}

export const value = frame(7, Buffer.from('body'));
