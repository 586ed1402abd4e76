import { describe, expect, it, onTestFinished } from 'vitest';
import type { GroupSession } from '../../../streams/core/ports.ts';
import { foreign, full, kafka, server } from './edges.testing.ts';

describe('a generation of a member', () => {
  it('is over when the member starts to rejoin, not only when it has rejoined', async () => {
    const group = `${server.namespace}.leaving`;
    const deaf = foreign.consumer({ groupId: group, sessionTimeout: 4_000, rebalanceTimeout: 30_000 });
    await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('one'), partition: 0 }]);
    await kafka.appendRaw('tasks', [{ key: null, value: Buffer.from('one'), partition: 1 }]);
    await deaf.connect();
    await deaf.subscribe({ topics: [full('tasks')], fromBeginning: true });
    const requests: string[] = [];
    deaf.on(deaf.events.REQUEST, ({ payload }) => void requests.push(payload.apiName));
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const sessions: GroupSession[] = [];
    const member = kafka.group();
    onTestFinished(async () => {
      release();
      await Promise.all([deaf.disconnect(), member.close()]);
    });
    await member.start({
      group,
      topics: ['tasks'],
      onAssigned: async (_assigned, session) => {
        sessions.push(session);
        return [];
      },
      onBatch: async () => undefined,
      onError: () => undefined,
    });
    let holding = false;
    await deaf.run({
      eachBatch: async () => {
        holding = true;
        await held;
      },
    });
    await expect.poll(() => holding).toBe(true);
    expect(requests).toContain('JoinGroup');
    await expect.poll(() => sessions.length).toBe(2);
    const third = kafka.group();
    onTestFinished(() => third.close());
    const joined = third.start({ group, topics: ['tasks'], onBatch: async () => undefined, onError: () => undefined });
    const position = [
      { topic: 'tasks' as const, partition: 0, offset: 0 },
      { topic: 'tasks' as const, partition: 1, offset: 0 },
    ];
    const over = (): Promise<boolean> =>
      sessions[1]!.heartbeat().then(
        () => false,
        () => true,
      );
    await expect.poll(over, { timeout: 3_000 }).toBe(true);
    expect(sessions).toHaveLength(2);
    for (const one of position) await expect(sessions[1]!.commit([one])).rejects.toMatchObject({ code: 'GROUP_FENCED' });
    await joined;
    await expect.poll(() => sessions.length).toBe(3);
  });
});
