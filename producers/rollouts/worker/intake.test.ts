import { describe, expect, it, vi } from 'vitest';
import { reachNothing } from '../../../streams/core/crash-points.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { GroupSession, LogBatch } from '../../../streams/core/ports.ts';
import { silentLogger } from '../../../infra/testing/logger.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { requested } from '../../../infra/testing/rollout-events.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { request } from '../../../infra/testing/worker-harness.ts';
import { createIntake } from './intake.ts';
import { systemClock } from '../../../infra/lifecycle/clock.ts';

const away = () => new PlatformError('KAFKA_UNAVAILABLE', 'committing: no broker answered');
const fenced = () => new PlatformError('GROUP_FENCED', 'committing: the group has gone on');

/** A session whose commits the test answers one by one. */
function scriptedSession(name: string, commits: string[]) {
  const answers: { readonly succeed: () => void; readonly fail: (error: Error) => void }[] = [];
  const session: GroupSession = {
    commit: ([position]) =>
      new Promise((succeed, fail) => {
        commits.push(`${name} ${position?.partition ?? -1}/${position?.offset ?? -1}`);
        answers.push({ succeed, fail });
      }),
    heartbeat: async () => undefined,
    isOver: () => false,
  };
  const answer = async (): Promise<(typeof answers)[number]> => {
    await vi.waitFor(
      () => {
        expect(answers.length).toBeGreaterThan(0);
      },
      { timeout: 20_000 },
    );
    return answers.shift() as (typeof answers)[number];
  };
  return { session, answer };
}

async function setUp(free: number, { addressee = '', addressees = [] as readonly string[] } = {}) {
  const log = new MemoryLog({ partitions: { tasks: 1 } });
  await request(
    log.writer(),
    Array.from({ length: 6 }, (_, index) => requested({ trajectory: `g${index}.0` }, { addressee: addressees[index] ?? '' })),
  );
  const records = log.records('tasks');
  const commits: string[] = [];
  const started: number[] = [];
  const failures: unknown[] = [];
  const flow: string[] = [];
  const room = { free };
  const intake = createIntake({
    clock: systemClock,
    runId: 'run-a',
    addressee,
    tasks: {
      start: async () => undefined,
      close: async () => undefined,
      pause: () => flow.push('pause'),
      resume: () => flow.push('resume'),
    },
    reader: codecReader(log.codec),
    logger: silentLogger,
    free: () => room.free,
    maxQueued: 4,
    reach: reachNothing,
    retryMs: [0, 1],
    start: ({ offset }) => {
      room.free -= 1;
      started.push(offset);
    },
    onFailure: (error) => failures.push(error),
  });
  const batch = (from: number, to: number): LogBatch => ({
    topic: 'tasks',
    partition: 0,
    records: records.slice(from, to),
    nextOffset: to,
    endOffset: 6,
  });
  const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 1 });
  return { intake, batch, commits, started, failures, flow, room, soon };
}

describe('intake', () => {
  it('starts a task only after its offset was committed, and commits no more than it starts', async () => {
    const { intake, batch, commits, started, room, soon } = await setUp(2);
    const { session, answer } = scriptedSession('s1', commits);
    await intake.onBatch(batch(0, 3), session);
    expect([commits, started]).toEqual([['s1 0/2'], []]);
    (await answer()).succeed();
    await soon(() => {
      expect(started).toEqual([0, 1]);
    });
    expect(commits).toHaveLength(1);
    room.free = 1;
    intake.pump();
    (await answer()).succeed();
    await soon(() => {
      expect(started).toEqual([0, 1, 2]);
    });
    expect(commits.at(-1)).toBe('s1 0/3');
  });

  it('starts no task of a fenced commit, and drops the other tasks of its generation', async () => {
    const { intake, batch, commits, started, room, soon } = await setUp(1);
    const first = scriptedSession('s1', commits);
    const second = scriptedSession('s2', commits);
    await intake.onBatch(batch(0, 3), first.session);
    (await first.answer()).fail(fenced());
    await new Promise((resolve) => setImmediate(resolve));
    room.free = 6;
    intake.pump();
    await intake.onBatch(batch(1, 3), second.session);
    (await second.answer()).succeed();
    await soon(() => {
      expect(started).toEqual([1, 2]);
    });
    expect(commits).toEqual(['s1 0/1', 's2 0/3']);
  });

  it('keeps the tasks of a newer generation when the response to a commit was lost and its repetition is fenced', async () => {
    const { intake, batch, commits, started, room, soon } = await setUp(1);
    const first = scriptedSession('s1', commits);
    const second = scriptedSession('s2', commits);
    await intake.onBatch(batch(0, 3), first.session);
    (await first.answer()).fail(away());
    const repeat = await first.answer();
    expect(intake.trouble()).toContain('no broker answered');
    await intake.onBatch(batch(1, 3), second.session);
    room.free = 6;
    repeat.fail(fenced());
    (await second.answer()).succeed();
    await soon(() => {
      expect(started).toEqual([1, 2]);
    });
    expect(commits).toEqual(['s1 0/1', 's1 0/1', 's2 0/3']);
    expect(intake.trouble()).toBeUndefined();
  });

  it('claims redelivered tasks through the newer generation', async () => {
    const { intake, batch, commits, started, soon } = await setUp(6);
    const first = scriptedSession('s1', commits);
    const second = scriptedSession('s2', commits);
    await intake.onBatch(batch(0, 2), first.session);
    const inHand = await first.answer();
    await intake.onBatch(batch(0, 2), second.session);
    // Late batches of the previous generation change nothing.
    await intake.onBatch(batch(2, 4), first.session);
    inHand.fail(fenced());
    (await second.answer()).succeed();
    await soon(() => {
      expect(started).toEqual([0, 1]);
    });
    expect(commits).toEqual(['s1 0/2', 's2 0/2']);
  });

  it('pauses the topic when enough tasks wait, and resumes it at half of that', async () => {
    const { intake, batch, commits, flow, room, soon } = await setUp(0);
    const { session, answer } = scriptedSession('s1', commits);
    await intake.onBatch(batch(0, 3), session);
    expect(flow).toEqual([]);
    await intake.onBatch(batch(3, 6), session);
    expect(flow).toEqual(['pause']);
    for (const [free, expected] of [
      [3, ['pause']],
      [1, ['pause', 'resume']],
    ] as const) {
      // prettier-ignore
      room.free = free;
      intake.pump();
      (await answer()).succeed();
      await soon(() => {
        expect(room.free).toBe(0);
      });
      await soon(() => {
        expect(flow.slice(0, expected.length)).toEqual(expected);
      });
    }
  });

  it('commits past the records after the last task of a batch, so that nobody reads them again', async () => {
    const { intake, batch, commits, soon } = await setUp(6);
    const { session, answer } = scriptedSession('s1', commits);
    await intake.onBatch({ ...batch(0, 1), nextOffset: 3 }, session);
    (await answer()).succeed();
    await intake.onBatch({ ...batch(0, 0), nextOffset: 9 }, session);
    (await answer()).succeed();
    await soon(() => {
      expect(commits).toEqual(['s1 0/3', 's1 0/9']);
    });
  });

  it('starts only tasks with its own addressee, and commits past the others', async () => {
    for (const [addressee, own] of [
      ['', [0, 2, 5]],
      ['e-1', [1, 4]],
    ] as const) {
      const { intake, batch, commits, started, soon } = await setUp(6, { addressee, addressees: ['', 'e-1', '', 'e-2', 'e-1', ''] });
      const { session, answer } = scriptedSession('s1', commits);
      await intake.onBatch(batch(0, 6), session);
      (await answer()).succeed();
      await soon(() => {
        expect(started).toEqual(own);
      });
      expect(commits).toEqual(['s1 0/6']);
    }
  });

  it('claims nothing more once it is stopped, and reports a failure that is no outage', async () => {
    const stopped = await setUp(6);
    const first = scriptedSession('s1', stopped.commits);
    await stopped.intake.onBatch(stopped.batch(0, 1), first.session);
    (await first.answer()).fail(away());
    const stopping = stopped.intake.stop();
    await stopping;
    await stopped.intake.onBatch(stopped.batch(1, 2), first.session);
    expect(stopped.started).toEqual([]);
    const failing = await setUp(6);
    const second = scriptedSession('s1', failing.commits);
    const bug = new TypeError('x');
    await failing.intake.onBatch(failing.batch(0, 1), second.session);
    (await second.answer()).fail(bug);
    await failing.soon(() => {
      expect(failing.failures).toEqual([bug]);
    });
  });
});
