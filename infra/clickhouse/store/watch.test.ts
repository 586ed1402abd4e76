import { describe, expect, it } from 'vitest';
import { createWatch, limitOf } from './watch.ts';

const never = new Promise<never>(() => undefined);
const ticks = (watch: ReturnType<typeof createWatch>, count: number) => Array.from({ length: count }, () => watch.tick()).at(-1);

describe('the watch', () => {
  it('passes results and errors on, and does not list completed calls', async () => {
    const watch = createWatch();
    const asked = { sql: 'select 1', maxSeconds: 1 };
    expect(await watch.run(asked, Promise.resolve(7))).toBe(7);
    await expect(watch.run(asked, Promise.reject(new Error('x')))).rejects.toThrow('x');
    await watch.idle();
    expect(watch.pending()).toEqual([]);
  });

  it('finds the call that takes more than twice its limit, and no other', async () => {
    const watch = createWatch(1_000);
    void watch.run({ sql: 'insert', maxSeconds: undefined }, never);
    void watch.run({ sql: 'long', maxSeconds: 600 }, never);
    const stuck = watch.run({ sql: 'stuck', maxSeconds: 10 }, never);
    expect(ticks(watch, 22)).toBeUndefined();
    const call = ticks(watch, 1);
    expect(call?.asked.sql).toBe('stuck');
    call?.giveUp(new Error('given up'));
    await expect(stuck).rejects.toThrow('given up');
    expect(watch.pending()).toHaveLength(3);
  });

  it('finds the call whose client disconnected long ago', () => {
    const watch = createWatch(1_000);
    const left = new AbortController();
    void watch.run({ sql: 'left', maxSeconds: undefined, left: left.signal }, never);
    expect(ticks(watch, 100)).toBeUndefined();
    left.abort();
    expect(ticks(watch, 60)).toBeUndefined();
    expect(watch.tick()?.asked.sql).toBe('left');
  });

  it('resolves idle() when the last call is over', async () => {
    const watch = createWatch();
    let end: () => void = () => undefined;
    void watch.run({ sql: 'x', maxSeconds: 1 }, new Promise<void>((resolve) => (end = resolve)));
    let idle = false;
    const told = watch.idle().then(() => (idle = true));
    await Promise.resolve();
    expect(idle).toBe(false);
    end();
    await told;
    expect(idle).toBe(true);
  });
});

describe('the limit of a statement', () => {
  it.each([
    [{}, 'select 1', undefined],
    [{ max_execution_time: '10' }, 'select 1', 10],
    [{ max_execution_time: '0' }, 'select 1', undefined],
    [{ max_execution_time: '10' }, 'select 1 settings max_execution_time = 30', 30],
    [{}, "select 1 SETTINGS MAX_EXECUTION_TIME='2.5'", 2.5],
    [{ max_execution_time: 'x' }, 'select 1', undefined],
  ])('%j %s', (settings, sql, expected) => {
    expect(limitOf(new Map(Object.entries(settings)), sql)).toBe(expected);
  });
});
