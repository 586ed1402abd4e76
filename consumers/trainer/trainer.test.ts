// The complete trainer over the in-memory log.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { stopFollowing } from '../../infra/testing/follow-events.ts';
import { newRig, scriptedWorker, settings, verified } from '../../infra/testing/trainer-rig.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { settingsOf, settingsRecord } from './settings.ts';
import { newOwner } from './ownership.ts';
import { runTrainer } from './trainer.ts';

const WAIT = { timeout: 10_000, interval: 20 };
afterEach(stopFollowing);
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

  it.each(['commit', 'commit_answer'] as const)('continues after a transaction that fails at %s', async (point) => {
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

  it('treats a fence as an outage as long as no other trainer has claimed the run', async () => {
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

  it('repeats the requests of silent workers and lost claims, but only as often as allowed', async () => {
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

  it('discards groups of one as incomplete, admits others in their place, and stops when told', async () => {
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

  it('oversamples: asks for more than a batch, trains as soon as a batch is full, and discards the rest', async () => {
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
    // requests for an older version are discarded in the transaction of a step, so they do not add up
    for (const { resume } of steps.slice(0, -1)) expect(resume.open_groups).toBeLessThanOrEqual(6);
  });

  it('continues with the oversampling that was recorded', () => {
    const recorded = { settings: settingsRecord({ ...settings, oversample: 2 }, undefined) } as Parameters<typeof settingsOf>[1];
    expect(settingsOf({ ...settings, oversample: 1 }, recorded).oversample).toBe(2);
  });

  it('discards groups of equal rewards as uniform, not as incomplete', async () => {
    const rig = newRig();
    await scriptedWorker(
      rig,
      () => 'answer',
      ({ group_index: index, sample }) => (index % 2 === 0 ? 0.5 : sample % 2),
    );
    await runTrainer(rig.deps(), never);
    const discards = (await rig.all('training')).flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event] : []));
    expect(new Set(discards.map(({ reason }) => reason))).toEqual(new Set(['uniform_group']));
    // its group was admitted at version 0, and may have been discarded before or after the first step
    expect(discards[0]).toMatchObject({ reward: 0.5, tokens: 10, turns: 1, staleness_total: discards[0]?.version });
    expect(await verified(rig)).toMatchObject({ ok: true, trained: 40 });
  });
});

describe('the end of a run', () => {
  it('counts its trajectories, including those of smaller groups and those still open', async () => {
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
