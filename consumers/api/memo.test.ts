import { describe, expect, it } from 'vitest';
import { createMemo } from './memo.ts';

describe('a memo', () => {
  it('computes an answer once for the same question and stamp, also for concurrent callers', async () => {
    const memo = createMemo<number>();
    let made = 0;
    const make = async (): Promise<number> => (made += 1);
    expect(await Promise.all([memo('a', '1', make), memo('a', '1', make)])).toEqual([1, 1]);
    expect([await memo('a', '2', make), await memo('b', '2', make), await memo('a', '2', make)]).toEqual([2, 3, 2]);
  });

  it('keeps the most recently used answers, and no failures', async () => {
    const memo = createMemo<number>(2);
    let made = 0;
    const make = async (): Promise<number> => (made += 1);
    for (const question of ['a', 'b', 'a', 'c', 'a', 'b']) await memo(question, '', make);
    expect(made).toBe(4);
    await expect(memo('d', '', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await memo('d', '', make)).toBe(5);
  });
});
