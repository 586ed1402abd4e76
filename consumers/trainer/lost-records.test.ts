// A trainer over the in-memory log, whose records are lost in a power cut or deleted by retention.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { stopFollowing } from '../../infra/testing/follow-events.ts';
import { newRig, scriptedWorker, settings, verified, type Rig } from '../../infra/testing/trainer-rig.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { TrainerDeps } from './deps.ts';
import { runTrainer } from './trainer.ts';

const WAIT = { timeout: 10_000, interval: 20 };
afterEach(stopFollowing);
const never = new AbortController().signal;

describe('a run whose newest records are lost under its trainer', () => {
  async function underWay(rig: Rig): Promise<void> {
    await vi.waitFor(async () => {
      expect((await rig.all('training')).filter(({ type }) => type === 'StepCompleted').length).toBeGreaterThan(1);
    }, WAIT);
  }
  const lastOf = async (rig: Rig, topic: 'rollouts' | 'tasks'): Promise<{ readonly partition: number; readonly end: number }> =>
    (await rig.log.reader().bounds(topic)).reduce((most, one) => (one.end > most.end ? one : most));

  it('ends with LOG_CUT, whether or not other records took their offsets, and the next trainer recovers', async () => {
    for (const refill of [0, 4, 30]) {
      const rig = newRig();
      let answers = 0;
      // some are answered; then the log stands still
      await scriptedWorker(rig, () => ((answers += 1) > 40 ? 'claim' : 'answer'));
      const running = expect(runTrainer(rig.deps({ settings: { ...settings, steps: 0 } }), never)).rejects.toMatchObject({
        code: 'LOG_CUT',
      });
      await underWay(rig);
      await rig.log.idle();
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

  it('is recognized by a trainer that starts afterwards, but not if only the leader has changed', async () => {
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
      await rig.log.idle();
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

  it('repeats requests that are lost', async () => {
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
  /** Runs a trainer until it has admitted groups, none of which is answered. */
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

  it.each([[[0]], [[1]], [[0, 1]]])('repeats those of partitions %j, with events, reports it, and finishes', async (partitions) => {
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

  it('discards them with a separate reason when their questions are gone', async () => {
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

  it('notices when they are deleted during a run before a worker claimed them', async () => {
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
