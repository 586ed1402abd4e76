import { LETTER_HEADER } from '../../schemas/framing.ts';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventReader } from '../../infra/registry/event-reader.ts';
import { randomEvent, seeded } from '../../infra/testing/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { createMemoryRegistry } from '../../infra/testing/memory-registry.ts';
import { createCodec } from '../../schemas/codec.ts';
import { frame } from '../../schemas/framing.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, LogRecord } from '../../streams/core/ports.ts';
import { deadLetterEvent } from '../warehouse/dead-letter.step.ts';
import { fits, groupsOf, obstacleTo, type Letter } from './letters.ts';
import { eachWhole, lettersById, readLetters } from './read-letters.ts';
import { retryLetters, type RetryChoice, type RetryDeps, type RetryLine, type RetryWriter } from './retry.ts';

const context = { producer: 'warehouse-1', nowMs: Date.UTC(2026, 10, 21), maxBytes: 1_000 };

const codec = createCodec();
const reader = createEventReader(codec, createMemoryRegistry());

class World {
  readonly log = new MemoryLog({ codec });
  readonly #known = new Set<number>();
  /** The next commit succeeds, but its response is lost. */
  loseAnswer = false;

  /** Decodes what the codec knows; a record with a schema id that was registered later reads as a valid turn. */
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

  letters(): Promise<readonly Letter[]> {
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

let world: World;
beforeEach(() => {
  world = new World();
});

const value = frame(7, Buffer.from('body'));

describe('letters', () => {
  it('carry where their record lies, once for each id', async () => {
    const record = world.put('rollouts', value, { 'run-id': 'run-a' });
    await world.bury(record);
    await world.bury(record);
    const [letter, ...others] = await world.letters();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({
      id: `rollouts/${record.partition}/${record.offset}`,
      at: { partition: 0, offset: 0 },
      original: { topic: 'rollouts', partition: record.partition, offset: record.offset },
      ...{ run: 'run-a', reason: 'unknown_schema', step: 'warehouse', valueBytes: value.length, cut: false, retryOf: '' },
      ...{ atMs: context.nowMs, retriedAtMs: undefined },
    });
  });

  it('include records of dead-letters that are none, which are never retried', async () => {
    world.put('dead-letters', Buffer.from('garbage'));
    const [letter] = await world.letters();
    expect(letter).toMatchObject({ id: 'dead-letters/0/0', reason: 'not_framed', valueBytes: 7 });
    expect(await world.retry({ letters: ['dead-letters/0/0'], force: true })).toMatchObject([{ verdict: 'left' }]);
  });

  it('are filtered and counted', async () => {
    await world.bury(world.put('rollouts', value, { 'run-id': 'run-a' }));
    await world.bury(world.put('rollouts', null, { 'run-id': 'run-b' }), { reason: 'empty' });
    await world.bury(world.put('tasks', value));
    const letters = await world.letters();
    const ids = (filter: Parameters<typeof fits>[1]): number => letters.filter((letter) => fits(letter, filter)).length;
    expect([ids({}), ids({ topic: 'tasks' }), ids({ reason: 'empty' }), ids({ run: 'run-a' })]).toEqual([3, 1, 1, 1]);
    expect([ids({ sinceMs: context.nowMs }), ids({ sinceMs: context.nowMs + 1 }), ids({ open: true })]).toEqual([3, 0, 3]);
    expect(groupsOf(letters)).toEqual([
      { topic: 'rollouts', reason: 'empty', letters: 1, retried: 0 },
      { topic: 'rollouts', reason: 'unknown_schema', letters: 1, retried: 0 },
      { topic: 'tasks', reason: 'unknown_schema', letters: 1, retried: 0 },
    ]);
    expect(letters.find(({ reason }) => reason === 'empty')?.valueBytes).toBe(-1);
  });

  it('are given whole in the order of the log', async () => {
    for (const text of ['a', 'b', 'c']) await world.bury(world.put('questions', frame(7, Buffer.from(text))));
    const letters = await world.letters();
    const bodies: string[] = [];
    await eachWhole({ log: world.log.reader(), events: world.events }, [letters[2]!, letters[1]!], async ({ event }) => {
      bodies.push(event?.original_value?.subarray(5).toString() ?? '');
    });
    expect(bodies).toEqual(['b', 'c']);
    expect(() => lettersById(letters, ['questions/0/1', 'nope'])).toThrow(/none with the id nope/);
  });
});

describe('a retry', () => {
  it('puts the same bytes, key and headers back once, with the id of the letter', async () => {
    const record = world.put('rollouts', value, { 'run-id': 'run-a', traceparent: '00-x' });
    await world.bury(record);
    world.register(7);
    const id = `rollouts/${record.partition}/0`;
    expect(await world.retry({ letters: [id] })).toEqual([{ id, verdict: 'retried', detail: '' }]);
    expect(await world.retry({ letters: [id], force: true })).toEqual([{ id, verdict: 'retried_before', detail: '' }]);
    const [back, ...others] = world.returned();
    expect(others).toEqual([]);
    expect(back).toMatchObject({ partition: record.partition, key: record.key, value: record.value });
    expect(back?.headers).toEqual({ ...record.headers, [LETTER_HEADER]: Buffer.from(id) });
    expect(await world.letters()).toMatchObject([{ id, retriedAtMs: 5_000 }]);
  });

  it('leaves what still cannot be read, unless it is forced', async () => {
    await world.bury(world.put('rollouts', value));
    expect(await world.retry()).toMatchObject([{ verdict: 'left', detail: expect.stringContaining('unknown_schema') as unknown }]);
    expect(await world.retry({ dryRun: true, force: true })).toMatchObject([{ verdict: 'would_retry' }]);
    expect(world.returned()).toEqual([]);
    expect(await world.retry({ force: true })).toMatchObject([{ verdict: 'retried' }]);
  });

  it('that fails again has a letter that names the first, and is not taken again by itself', async () => {
    const record = world.put('rollouts', value);
    await world.bury(record);
    await world.retry({ force: true });
    const [back] = world.returned();
    await world.bury(back!);
    const letters = await world.letters();
    expect(letters.map(({ retryOf }) => retryOf)).toEqual(['', letters[0]?.id]);
    world.register(7);
    expect((await world.retry()).map(({ verdict }) => verdict)).toEqual(['retried_before', 'left']);
    expect((await world.retry({ letters: [letters[1]!.id] })).map(({ verdict }) => verdict)).toEqual(['retried']);
    expect(world.returned().at(-1)?.headers[LETTER_HEADER]?.toString()).toBe(letters[1]?.id);
  });

  it('whose answer was lost is found done by the next one; one that was refused is not', async () => {
    await world.bury(world.put('rollouts', value));
    world.register(7);
    world.log.failNext('commit');
    await expect(world.retry()).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(world.returned()).toEqual([]);
    world.loseAnswer = true;
    await expect(world.retry()).rejects.toThrow('lost');
    expect(await world.retry()).toMatchObject([{ verdict: 'retried_before' }]);
    expect(world.returned()).toHaveLength(1);
  });

  it('is fenced by another that began later', async () => {
    await world.bury(world.put('rollouts', value));
    world.register(7);
    const first = await world.openWriter();
    const slow = retryLetters({ ...world.deps(), openWriter: async () => first }, { letters: {}, force: false, dryRun: false });
    const second = world.openWriter();
    await second;
    await expect(slow).rejects.toMatchObject({ code: 'PRODUCER_FENCED' });
    expect(world.returned()).toEqual([]);
  });

  it('refuses what would break something else', async () => {
    await world.bury(world.put('training', value));
    await world.bury(world.put('tasks', value), { reason: 'refused', table: 'turns' });
    await world.bury(world.put('rollouts', frame(7, Buffer.alloc(50))), { maxBytes: 10 });
    const obstacles = (await world.letters()).map(obstacleTo);
    expect(obstacles).toEqual([
      expect.stringContaining('ledger'),
      expect.stringContaining('run once more'),
      expect.stringContaining('value cut to 10 of 55 bytes'),
    ]);
    expect((await world.retry({ force: true })).map(({ verdict }) => verdict)).toEqual(['left', 'left', 'left']);
    await expect(world.retry({ letters: ['rollouts/9/9'] })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('leaves what has no place any more', async () => {
    const record = world.put('rollouts', value);
    await world.bury({ ...record, partition: 77 });
    await world.bury({ ...record, topic: 'elsewhere' as EventTopic });
    world.register(7);
    expect(await world.retry()).toMatchObject([
      { verdict: 'left', detail: 'rollouts has no partition 77' },
      { verdict: 'left', detail: 'there is no topic elsewhere' },
    ]);
  });

  it('puts every record back once, whatever fails in between and however often it is asked', async () => {
    const faults = fc.array(fc.constantFrom('none', 'refused', 'lost'), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 450 }), faults, async (count, history) => {
        const one = new World();
        one.register(7);
        for (let i = 0; i < count; i += 1) await one.bury(one.put('rollouts', frame(7, Buffer.from(String(i)))));
        for (const fault of history) {
          if (fault === 'refused') one.log.failNext('commit');
          one.loseAnswer = fault === 'lost';
          await one.retry().catch(() => undefined);
          one.loseAnswer = false;
        }
        await one.retry();
        await one.retry();
        const bodies = one.returned().map((record) => Number(record.value?.subarray(5).toString()));
        expect(bodies.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
      }),
      { numRuns: 10 },
    );
  });
});
