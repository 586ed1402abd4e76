// The complete trainer over the in-memory log.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { closeWorkers, newRig, scriptedWorker, settings, verified, type Rig } from '../../infra/testing/trainer-rig.ts';
import { type DecodedEvent } from '../../schemas/codec.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { LogReader, RunIndex } from '../../streams/core/ports.ts';
import type { TrainerDeps } from './deps.ts';
import { assertWorkerSettings, settingsOf, settingsRecord } from './settings.ts';
import { newOwner } from './ownership.ts';
import { runTrainer } from './trainer.ts';

const WAIT = { timeout: 10_000, interval: 20 };
afterEach(closeWorkers);

const never = new AbortController().signal;

describe('the trainer', () => {
  it('trains its steps, commits each with its policy and its offsets, and finishes the run', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    expect(await runTrainer(rig.deps(), never)).toEqual({ kind: 'finished', version: 5 });
    expect(await verified(rig)).toMatchObject({ ok: true, steps: 5, trained: 40, finished: true, problems: [] });
    const steps = (await rig.all('training')).flatMap((read) => (read.type === 'StepCompleted' ? [read.event] : []));
    expect(steps.map(({ groups, trajectories }) => [groups, trajectories.length])).toEqual(Array.from({ length: 5 }, () => [2, 8]));
    for (const step of steps) for (const trajectory of step.trajectories) expect(trajectory.staleness_worst).toBeLessThanOrEqual(2);
    const [committed] = await rig.log.offsets.fetch('trainer.run-a', 'training');
    expect(committed?.offset, 'where the run begins').toBe(0);
    expect(rig.statuses.at(0)?.state).toBe('starting');
  });

  it('refuses a run that is finished', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    await runTrainer(rig.deps({ settings: { ...settings, steps: 1 } }), never);
    await expect(runTrainer(rig.deps({ settings: { ...settings, steps: 1 } }), never)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  });

  it.each(['commit', 'commit_answer'] as const)('goes on where it was when the transaction fails at %s', async (point) => {
    const calm = newRig();
    await scriptedWorker(calm);
    await runTrainer(calm.deps(), never);

    const rig = newRig();
    await scriptedWorker(rig);
    for (const nth of [1, 3, 2]) {
      let commits = 0;
      const openWriter = async () => {
        const writer = await rig.log.transactional('trainer.run-a');
        return {
          ...writer,
          commit: async (work: Parameters<typeof writer.commit>[0]) => {
            commits += 1;
            if (commits === nth) rig.log.failNext(point, new PlatformError('KAFKA_UNAVAILABLE', 'committing: cut off'));
            return writer.commit(work);
          },
        };
      };
      await expect(runTrainer(rig.deps({ openWriter }), never)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    }
    expect(await runTrainer(rig.deps(), never)).toEqual({ kind: 'finished', version: 5 });
    expect(await verified(rig)).toMatchObject({ ok: true, steps: 5, trained: 40, problems: [] });
  });

  it('is fenced by a second trainer of the run', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const endless = rig.deps({ settings: { ...settings, steps: 0 } });
    const first = expect(runTrainer(endless, never)).rejects.toMatchObject({ code: 'PRODUCER_FENCED' });
    await vi.waitFor(async () => {
      expect((await rig.all('training')).some(({ type }) => type === 'StepCompleted')).toBe(true);
    }, WAIT);
    const stop = new AbortController();
    const second = runTrainer(endless, stop.signal);
    await first;
    stop.abort();
    expect(await second).toMatchObject({ kind: 'stopped' });
    expect(await verified(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('takes a fence for an outage as long as nobody else has claimed the run', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const owner = newOwner('t-0');
    let opened = 0;
    const openWriter = async () => {
      const writer = await rig.log.transactional('trainer.run-a');
      let commits = 0;
      opened += 1;
      return {
        ...writer,
        commit: async (work: Parameters<typeof writer.commit>[0]) => {
          commits += 1;
          if (opened === 1 && commits === 4) await rig.log.transactional('trainer.run-a');
          return writer.commit(work);
        },
      };
    };
    await expect(runTrainer(rig.deps({ openWriter, owner }), never)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    expect(await runTrainer(rig.deps({ openWriter, owner }), never)).toEqual({ kind: 'finished', version: 5 });
    expect(await verified(rig)).toMatchObject({ ok: true, steps: 5, problems: [] });
  });

  it('asks again for what a silent worker began and for a claim that was lost, and only as often as allowed', async () => {
    const rig = newRig();
    await scriptedWorker(rig, ({ sample, attempt, group_index }) => {
      if (group_index === 0 && sample === 0 && attempt === 0) return 'start';
      if (group_index === 1 && sample === 1 && attempt === 0) return 'claim';
      return group_index === 2 && sample === 2 ? 'start' : 'answer';
    });
    const stop = new AbortController();
    const running = runTrainer(rig.deps({ settings: { ...settings, steps: 0 } }), stop.signal);
    await vi.waitFor(async () => {
      const ledger = await rig.all('training');
      const expired = ledger.flatMap((read) => (read.type === 'TrajectoryExpired' ? [read.event] : []));
      const told = expired.map(({ trajectory_id: id, attempt, reason, next_attempt: next }) => [id.slice(6), attempt, reason, next]);
      expect(told).toContainEqual(['g000000.0', 0, 'silent', 1]);
      expect(told).toContainEqual(['g000001.1', 0, 'lost_claim', 1]);
      expect(told).toContainEqual(['g000002.2', 0, 'silent', 1]);
      expect(told).toContainEqual(['g000002.2', 1, 'silent', -1]);
      const discarded = ledger.flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event] : []));
      expect(discarded.map(({ trajectory_id: id, reason }) => [id.slice(6), reason])).toContainEqual(['g000002.2', 'expired']);
    }, WAIT);
    stop.abort();
    await running;
    expect(await verified(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('discards uniform groups with an event, admits others in their place, and stops when told', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const stop = new AbortController();
    const running = runTrainer(rig.deps({ settings: { ...settings, groupSize: 1, steps: 0 } }), stop.signal);
    const reasons = async () =>
      (await rig.all('training')).flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event.reason] : []));
    await vi.waitFor(async () => {
      expect((await reasons()).length).toBeGreaterThan(10);
    }, WAIT);
    stop.abort();
    expect(await running).toEqual({ kind: 'stopped', version: 0 });
    expect(new Set(await reasons())).toEqual(new Set(['incomplete']));
  });

  it('oversamples: asks for more than a batch, trains as soon as it is full, and discards what is left of it', async () => {
    const rig = newRig();
    // one in three groups is never answered: a trainer that waited for all of them would not end
    await scriptedWorker(rig, ({ group_index }) => (group_index % 3 === 2 ? 'claim' : 'answer'));
    const sync = { ...settings, maxStaleness: 0, maxConcurrent: 6, oversample: 3, silenceMs: 60_000 };
    expect(await runTrainer(rig.deps({ settings: sync }), never)).toEqual({ kind: 'finished', version: 5 });
    const { problems, trained, discarded, admitted, open } = await verified(rig);
    expect({ problems, trained }).toEqual({ problems: [], trained: 40 });
    expect(admitted).toBe(trained + discarded + open);
    const ledger = await rig.all('training');
    const steps = ledger.flatMap((read) => (read.type === 'StepCompleted' ? [read.event] : []));
    for (const step of steps) for (const trajectory of step.trajectories) expect(trajectory.staleness_worst).toBe(0);
    const admissions = ledger.flatMap((read) => (read.type === 'GroupsAdmitted' ? [read.event] : []));
    expect(admissions[0]?.groups).toHaveLength(6);
    for (const { running, groups } of admissions) expect(running + groups.length).toBeLessThanOrEqual(6);
    const left = ledger.flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event] : []));
    expect(new Set(left.map(({ reason }) => reason))).toEqual(new Set(['stale', 'expired']));
    // no request for an older version is open after a step
    for (const { resume } of steps.slice(0, -1)) expect(resume.open_groups).toBeLessThanOrEqual(6);
  });

  it('goes on with the oversampling that was recorded', () => {
    const recorded = { settings: settingsRecord({ ...settings, oversample: 2 }, undefined) } as Parameters<typeof settingsOf>[1];
    expect(settingsOf({ ...settings, oversample: 1 }, recorded).oversample).toBe(2);
  });

  it('tells a group that teaches nothing from one that nobody finished', async () => {
    const rig = newRig();
    await scriptedWorker(
      rig,
      () => 'answer',
      ({ group_index: index, sample }) => (index % 2 === 0 ? 0.5 : sample % 2),
    );
    await runTrainer(rig.deps(), never);
    const discards = (await rig.all('training')).flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event] : []));
    expect(new Set(discards.map(({ reason }) => reason))).toEqual(new Set(['uniform_group']));
    // belongs to a group that was admitted at version 0, before or after the first step
    expect(discards[0]).toMatchObject({ reward: 0.5, tokens: 10, turns: 1, staleness_total: discards[0]?.version });
    expect(await verified(rig)).toMatchObject({ ok: true, trained: 40 });
  });
});

describe('a run whose newest records are lost under its trainer', () => {
  async function underWay(rig: Rig): Promise<void> {
    await vi.waitFor(async () => {
      expect((await rig.all('training')).filter(({ type }) => type === 'StepCompleted').length).toBeGreaterThan(1);
    }, WAIT);
  }
  const lastOf = async (rig: Rig, topic: 'rollouts' | 'tasks'): Promise<{ readonly partition: number; readonly end: number }> =>
    (await rig.log.reader().bounds(topic)).reduce((most, one) => (one.end > most.end ? one : most));

  it('ends with LOG_CUT, whether or not others took their places, and the next one finishes it', async () => {
    for (const refill of [0, 4, 30]) {
      const rig = newRig();
      let answers = 0;
      // some are answered; then the log stands still
      await scriptedWorker(rig, () => ((answers += 1) > 40 ? 'claim' : 'answer'));
      const running = expect(runTrainer(rig.deps({ settings: { ...settings, steps: 0 } }), never)).rejects.toMatchObject({
        code: 'LOG_CUT',
      });
      await underWay(rig);
      await rig.log.settled();
      const { partition, end } = await lastOf(rig, 'rollouts');
      rig.log.cutTail('rollouts', partition, end - 3);
      for (let i = 0; i < refill; i += 1) rig.log.appendRaw('rollouts', [{ partition, key: 'x', value: Buffer.from([i]), headers: {} }]);
      await running;
      const stop = new AbortController();
      const next = runTrainer(rig.deps({ afterCut: true, settings: { ...settings, steps: 0 } }), stop.signal);
      await vi.waitFor(() => {
        expect(rig.statuses.at(-1)).toMatchObject({ state: 'live' });
      }, WAIT);
      stop.abort();
      expect(await next).toMatchObject({ kind: 'stopped' });
      expect(await verified(rig)).toMatchObject({ problems: [] });
    }
  });

  it('is noticed by a trainer that starts afterwards, and not when only the leader has changed', async () => {
    const rig = newRig();
    let answers = 0;
    await scriptedWorker(rig, () => ((answers += 1) > 40 ? 'claim' : 'answer'));
    const endless = rig.deps({ settings: { ...settings, steps: 0 } });
    const live = async (deps: TrainerDeps): Promise<void> => {
      const stop = new AbortController();
      const running = runTrainer(deps, stop.signal);
      running.catch(() => undefined);
      const from = rig.statuses.length;
      await Promise.race([
        running,
        vi.waitFor(() => {
          expect(rig.statuses.slice(from).some(({ state }) => state === 'live')).toBe(true);
        }, WAIT),
      ]);
      await rig.log.settled();
      stop.abort();
      await running;
    };
    const stop = new AbortController();
    const first = runTrainer(endless, stop.signal);
    await underWay(rig);
    stop.abort();
    await first;
    const { partition, end } = await lastOf(rig, 'rollouts');
    const put = (): void => void rig.log.appendRaw('rollouts', [{ partition, key: 'x', value: Buffer.from('x'), headers: {} }]);
    rig.log.elect('rollouts', partition);
    put();
    await live(endless);
    rig.log.cutTail('rollouts', partition, end - 8);
    for (let i = 0; i < 30; i += 1) put();
    await expect(live(endless)).rejects.toMatchObject({ code: 'LOG_CUT' });
    await live({ ...endless, afterCut: true });
    expect(await verified(rig)).toMatchObject({ problems: [] });
  });

  it('asks again for requests of which nothing is left', async () => {
    const rig = newRig();
    const stop = new AbortController();
    const deps = rig.deps({ settings: { ...settings, steps: 0 } });
    const running = expect(runTrainer(deps, never)).rejects.toMatchObject({ code: 'LOG_CUT' });
    await vi.waitFor(async () => {
      expect((await rig.all('tasks')).length).toBeGreaterThan(0);
    }, WAIT);
    const { partition, end } = await lastOf(rig, 'tasks');
    rig.log.cutTail('tasks', partition, end - 3);
    await running;
    const next = runTrainer({ ...deps, afterCut: true }, stop.signal);
    await vi.waitFor(async () => {
      const expired = (await rig.all('training')).flatMap((read) => (read.type === 'TrajectoryExpired' ? [read.event.reason] : []));
      expect(expired).toContain('lost_request');
    }, WAIT);
    stop.abort();
    await next;
    expect(await verified(rig)).toMatchObject({ problems: [] });
  });
});

describe('a run whose requests retention deleted', () => {
  /** Stops once it has admitted groups, none of which is answered. */
  async function admitted(rig: Rig): Promise<void> {
    const stop = new AbortController();
    const running = runTrainer(rig.deps(), stop.signal);
    await vi.waitFor(async () => {
      expect((await rig.all('training')).some(({ type }) => type === 'GroupsAdmitted')).toBe(true);
    }, WAIT);
    stop.abort();
    await running;
  }
  const cut = async (rig: Rig, partitions: readonly number[]): Promise<void> => {
    for (const { partition, end } of await rig.log.reader().bounds('tasks'))
      if (partitions.includes(partition)) rig.log.deleteBefore('tasks', partition, end);
  };
  const of = async <T extends DecodedEvent['type']>(rig: Rig, type: T) =>
    (await rig.all('training')).flatMap((read) => (read.type === type ? [read.event as Extract<DecodedEvent, { type: T }>['event']] : []));

  it.each([[[0]], [[1]], [[0, 1]]])('asks again for those of partitions %j, with events, says so, and finishes', async (partitions) => {
    const rig = newRig();
    await admitted(rig);
    await cut(rig, partitions);
    await scriptedWorker(rig);
    expect(await runTrainer(rig.deps(), never)).toEqual({ kind: 'finished', version: 5 });
    const lost = (await of(rig, 'TrajectoryExpired')).filter(({ reason }) => reason === 'lost_request');
    expect(lost.length).toBeGreaterThan(0);
    expect(new Set(lost.map(({ attempt, next_attempt: next }) => [attempt, next].join()))).toEqual(new Set(['0,1']));
    expect(rig.statuses.some(({ state, detail }) => state === 'live' && detail.includes('are asked for again'))).toBe(true);
    const report = await verified(rig);
    expect(report).toMatchObject({ ok: true, steps: 5, problems: [] });
    expect(report.admitted).toBe(report.trained + report.discarded + report.open);
  });

  it('discards them with a reason of their own when their questions are gone', async () => {
    const rig = newRig();
    await admitted(rig);
    await cut(rig, [0, 1]);
    await scriptedWorker(rig);
    const questions = async () => ({ ...(await rig.deps().questions('', 0)), find: () => undefined });
    await runTrainer(rig.deps({ questions }), never);
    expect(new Set((await of(rig, 'TrajectoryExpired')).map(({ reason }) => reason))).toEqual(new Set(['question_gone']));
    expect((await of(rig, 'TrajectoryDiscarded')).map(({ reason }) => reason)).toContain('lost');
    expect(await verified(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('notices when they are deleted under a live trainer before anybody took them', async () => {
    const rig = newRig();
    const stop = new AbortController();
    const running = runTrainer(rig.deps({ settings: { ...settings, steps: 0 } }), stop.signal);
    await vi.waitFor(async () => {
      expect((await rig.all('training')).some(({ type }) => type === 'GroupsAdmitted')).toBe(true);
    }, WAIT);
    await cut(rig, [0, 1]);
    await vi.waitFor(async () => {
      expect((await of(rig, 'TrajectoryExpired')).map(({ reason }) => reason)).toContain('lost_claim');
    }, WAIT);
    stop.abort();
    await running;
  });
});

describe('the end of a run', () => {
  it('counts trajectories, of smaller groups as well, and those that were still open', async () => {
    const rig = newRig();
    await scriptedWorker(rig, ({ sample }) => (sample === 0 ? 'start' : 'answer'));
    await runTrainer(rig.deps({ settings: { ...settings, steps: 2, maxAttempts: 1 } }), never);
    const end = (await rig.all('training')).flatMap((read) => (read.type === 'RunFinished' ? [read.event] : []))[0];
    const steps = (await rig.all('training')).flatMap((read) => (read.type === 'StepCompleted' ? read.event.trajectories : []));
    expect(end?.trained).toBe(steps.length);
    expect(steps.length, 'every group was smaller').toBe(2 * 2 * 3);
    expect(await verified(rig)).toMatchObject({
      ok: true,
      problems: [],
      trained: end?.trained,
      discarded: end?.discarded,
      open: end?.open,
    });
  });
});

describe('where a run begins', () => {
  const nowhere: RunIndex = { startOf: async () => undefined, note: async () => undefined };
  const at = (training: number): RunIndex => ({ ...nowhere, startOf: async () => ({ training, policies: 0 }) });
  const forgotten = { fetch: async () => [] };

  it('is found by its offsets, by the index, or in the whole ledger, whichever there is', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const one = { settings: { ...settings, steps: 1 } };
    await runTrainer(rig.deps(one), never);
    const unplaced = { fetch: async () => [{ partition: 0, offset: 3, metadata: '' }] };
    const ways: readonly Partial<TrainerDeps>[] = [
      ...[{}, { index: nowhere }, { index: at(0) }, { index: at(0), offsets: forgotten }],
      // offsets from a version that committed different ones; an index that is wrong or whose topic was recreated
      ...[
        { index: nowhere, offsets: unplaced },
        { index: at(1_000_000), offsets: forgotten },
        { index: at(2), offsets: forgotten },
      ],
    ];
    for (const way of ways) await expect(runTrainer(rig.deps({ ...one, ...way }), never)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
  });

  it('is noted before its first entry, and nothing of other runs is read for a new one', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const noted: unknown[] = [];
    const index: RunIndex = {
      startOf: async () => undefined,
      note: async (run, start) => void noted.push({ run, ...start, entries: (await rig.all('training')).length }),
    };
    const inner = rig.log.reader();
    const read: string[] = [];
    const log: LogReader = {
      ...inner,
      readToEnd: async (topic, options) => {
        read.push(topic);
        await inner.readToEnd(topic, options);
      },
    };
    await runTrainer(rig.deps({ index, log, settings: { ...settings, steps: 1 } }), never);
    expect(noted).toMatchObject([{ run: 'run-a', training: 0, policies: 0, entries: 0 }]);
    expect(noted[0]).toMatchObject({ rollouts: expect.arrayContaining([0]) as unknown, tasks: expect.arrayContaining([0]) as unknown });
    expect(read).not.toContain('training');
    expect(read).not.toContain('policies');
  });

  it('is no place in a topic with two orders', async () => {
    const rig = newRig();
    const log = new MemoryLog({ partitions: { training: 2 } });
    await expect(runTrainer(rig.deps({ log: log.reader() }), never)).rejects.toMatchObject({
      code: 'TOPIC_MISMATCH',
      message: expect.stringContaining('training has 2 partitions') as string,
    });
  });
});

describe('the settings of a run that is resumed', () => {
  const workerSettings = { policy: 'llm', llmModel: 'a', answersToEnd: 1 };
  const begun = async (): Promise<Rig> => {
    const rig = newRig();
    const stop = new AbortController();
    const running = runTrainer(rig.deps({ workerSettings }), stop.signal);
    await vi.waitFor(async () => {
      expect((await rig.all('tasks')).length).toBeGreaterThan(0);
    }, WAIT);
    stop.abort();
    await running;
    return rig;
  };

  it('are those that it was started with, in every request', async () => {
    const rig = await begun();
    await scriptedWorker(rig);
    const other = { ...settings, reward: 'em', maxTurns: 99, maxTokens: 1, maxWallMs: 1_000_000 };
    await runTrainer(rig.deps({ workerSettings, settings: other }), never);
    const requests = (await rig.all('tasks')).flatMap((read) => (read.type === 'TrajectoryRequested' ? [read.event] : []));
    const told = requests.map(({ reward, max_turns: turns, max_tokens: tokens, max_wall_ms: ms }) => [reward, turns, tokens, ms].join());
    expect(requests.length).toBeGreaterThan(16);
    expect(new Set(told)).toEqual(new Set(['f1,8,1000,60000']));
  });

  it('are refused, by name, when they are settings of the workers and others', async () => {
    const rig = await begun();
    await expect(runTrainer(rig.deps({ workerSettings: { ...workerSettings, llmModel: 'b' } }), never)).rejects.toMatchObject({
      code: 'RUN_CONFLICT',
      message: 'resuming run run-a: llmModel is "b", the run was started with "a"',
    });
    const { answersToEnd: _, ...fewer } = workerSettings;
    await expect(runTrainer(rig.deps({ workerSettings: fewer }), never)).rejects.toMatchObject({ code: 'RUN_CONFLICT' });
  });

  it('are not compared where an older version recorded none', () => {
    for (const text of ['', '{}', '[]', 'null']) assertWorkerSettings(workerSettings, { run_id: 'r', settings: text });
  });
});
