import { describe, expect, it } from 'vitest';
import { createGate } from './gate.ts';

const latch = () => {
  let release = (): void => undefined;
  const wait = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { wait, release };
};

describe('the gate', () => {
  it('runs as many at once as its width, and the next one in order when a place is free', async () => {
    const gate = createGate({ width: 2, maxWaitMs: 10_000 });
    const latches = [latch(), latch(), latch(), latch()];
    const started: number[] = [];
    const work = latches.map(({ wait }, index) =>
      gate.run(async () => {
        started.push(index);
        await wait;
        return index;
      }),
    );
    await Promise.resolve();
    expect(started).toEqual([0, 1]);
    latches[1]!.release();
    await work[1];
    expect(started).toEqual([0, 1, 2]);
    for (const { release } of latches) release();
    expect(await Promise.all(work)).toEqual([0, 1, 2, 3]);
  });

  it('rejects callers that wait too long, and those that come when too many wait', async () => {
    const gate = createGate({ width: 1, maxWaitMs: 5 });
    const first = latch();
    const running = gate.run(() => first.wait);
    const waiting = Array.from({ length: 10 }, () => gate.run(async () => 'late'));
    const outcomes = Promise.allSettled(waiting);
    await expect(gate.run(async () => 'one too many')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect((await outcomes).every((outcome) => outcome.status === 'rejected')).toBe(true);
    first.release();
    await running;
    expect(await gate.run(async () => 'free again')).toBe('free again');
  });

  it('gives the place back after a failure', async () => {
    const gate = createGate({ width: 1, maxWaitMs: 5 });
    await expect(gate.run(async () => Promise.reject(new Error('x')))).rejects.toThrow('x');
    expect(await gate.run(async () => 1)).toBe(1);
  });
});
