import { describe, expect, it } from 'vitest';
import { frame } from '../../schemas/framing.ts';
import { fits, groupsOf } from './letters.ts';
import { eachWhole, lettersById } from './read-letters.ts';
import { context, setUpDeadLetters, value, world } from './dead-letters.testing.ts';

setUpDeadLetters();

describe('letters', () => {
  it('contain the position of their record, and are listed once for each id', async () => {
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

  it('include records of the topic that are no letters, which are never retried', async () => {
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

  it('are read in full in log order', async () => {
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
