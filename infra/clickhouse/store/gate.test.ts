import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGate, type StoreGate } from './gate.ts';

const never = new AbortController().signal;
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void promise.then(
    () => (done = true),
    () => (done = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
};
const open = (more: Partial<Parameters<typeof createGate>[0]> = {}): StoreGate =>
  createGate({ readers: 2, queueLimit: 100, maxWaitMs: 10_000, ...more });

describe('the gate', () => {
  it('admits a limited number of readers at once, and beside them one writer at a time', async () => {
    const gate = open();
    const leave = await gate.enter('read', 'a', never);
    await gate.enter('read', 'a', never);
    const third = gate.enter('read', 'a', never);
    expect(await settled(third)).toBe(false);
    const write = await gate.enter('write', 'a', never);
    const next = gate.enter('write', 'a', never);
    expect(await settled(next)).toBe(false);
    expect([gate.running, gate.waiting]).toEqual([3, 2]);
    leave();
    leave();
    write();
    expect([await settled(third), await settled(next)]).toEqual([true, true]);
    expect([gate.running, gate.waiting]).toEqual([3, 0]);
  });

  it('serves clients round robin', async () => {
    const gate = open({ readers: 1 });
    let leave = await gate.enter('read', 'x', never);
    const order: string[] = [];
    const enter = (client: string): Promise<void> =>
      gate.enter('read', client, never).then((out) => {
        order.push(client);
        leave = out;
      });
    const all = ['greedy', 'greedy', 'greedy', 'modest', 'other'].map(enter);
    for (let n = 0; n < 5; n += 1) {
      leave();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(order).toEqual(['greedy', 'modest', 'other', 'greedy', 'greedy']);
  });

  it('refuses when too many wait, or one waits too long', async () => {
    const gate = open({ readers: 1, queueLimit: 1, maxWaitMs: 20 });
    await gate.enter('read', 'a', never);
    const waiting = gate.enter('read', 'a', never);
    await expect(gate.enter('read', 'b', never)).rejects.toMatchObject({ codeName: 'TOO_MANY_SIMULTANEOUS_QUERIES' });
    await expect(waiting).rejects.toMatchObject({ codeName: 'TOO_MANY_SIMULTANEOUS_QUERIES' });
    expect(gate.waiting).toBe(0);
  });

  it('removes a client that disconnected, and resolves idle() when nothing runs or waits', async () => {
    const gate = open({ readers: 1 });
    await gate.idle();
    const leave = await gate.enter('read', 'a', never);
    const abort = new AbortController();
    const waiting = gate.enter('read', 'a', abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ codeName: 'QUERY_WAS_CANCELLED' });
    await expect(gate.enter('read', 'a', abort.signal)).rejects.toThrow();
    const idle = gate.idle();
    expect(await settled(idle)).toBe(false);
    leave();
    expect(await settled(idle)).toBe(true);
  });

  it('never admits more than there are slots, and loses no slot, whatever happens', async () => {
    const step = fc.record({
      lane: fc.constantFrom('read' as const, 'write' as const),
      client: fc.constantFrom('a', 'b', 'c'),
      act: fc.constantFrom('enter', 'leave', 'abort'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const gate = open();
        const inside = { read: [] as (() => void)[], write: [] as (() => void)[] };
        const waiting: AbortController[] = [];
        for (const { lane, client, act } of steps) {
          if (act === 'leave') inside[lane].shift()?.();
          else if (act === 'abort') waiting.shift()?.abort();
          else {
            const abort = new AbortController();
            waiting.push(abort);
            gate.enter(lane, client, abort.signal).then(
              (leave) => inside[lane].push(leave),
              () => undefined,
            );
          }
          await Promise.resolve();
          await Promise.resolve();
          expect(inside.read.length).toBeLessThanOrEqual(2);
          expect(inside.write.length).toBeLessThanOrEqual(1);
        }
        for (let more = true; more;) {
          await new Promise((resolve) => setImmediate(resolve));
          const all = [...inside.read.splice(0), ...inside.write.splice(0)];
          for (const leave of all) leave();
          more = all.length > 0;
        }
        expect([gate.running, gate.waiting]).toEqual([0, 0]);
      }),
      { numRuns: 100 },
    );
  });
});
