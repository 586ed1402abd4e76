import { LETTER_HEADER, frame } from '../../schemas/framing.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { obstacleTo } from './letters.ts';
import { retryLetters } from './retry.ts';
import { DeadLettersWorld, setUpDeadLetters, value, world } from './dead-letters.testing.ts';

setUpDeadLetters();

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

  it('leaves records that still cannot be read, unless it is forced', async () => {
    await world.bury(world.put('rollouts', value));
    expect(await world.retry()).toMatchObject([{ verdict: 'left', detail: expect.stringContaining('unknown_schema') as unknown }]);
    expect(await world.retry({ dryRun: true, force: true })).toMatchObject([{ verdict: 'would_retry' }]);
    expect(world.returned()).toEqual([]);
    expect(await world.retry({ force: true })).toMatchObject([{ verdict: 'retried' }]);
  });

  it('that fails again gets a letter that names the first, and is repeated only when that letter is named', async () => {
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

  it('is repeated if its commit failed, but not if only the response was lost', async () => {
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

  it('leaves ledger entries, tasks that workers have read, and shortened records, even if it is forced', async () => {
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

  it('leaves records whose partition or topic does not exist', async () => {
    const record = world.put('rollouts', value);
    await world.bury({ ...record, partition: 77 });
    await world.bury({ ...record, topic: 'elsewhere' as EventTopic });
    world.register(7);
    expect(await world.retry()).toMatchObject([
      { verdict: 'left', detail: 'rollouts has no partition 77' },
      { verdict: 'left', detail: 'there is no topic elsewhere' },
    ]);
  });

  it('puts every record back once, whatever fails in between and however often it is repeated', async () => {
    const faults = fc.array(fc.constantFrom('none', 'refused', 'lost'), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 450 }), faults, async (count, history) => {
        const one = new DeadLettersWorld();
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
