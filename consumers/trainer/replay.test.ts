// Replays a complete run of the real trainer over the in-memory log, then the same log with one change.
import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, turn } from '../../infra/testing/rollout-events.ts';
import type { TrainerDeps } from './deps.ts';
import { runTrainer } from './trainer.ts';
import { depsOf, hashLearner, madeRun, never, openWith, replayed, settings, setUpReplay, worker } from './replay.testing.ts';

setUpReplay();

describe('a replay', () => {
  it('rebuilds every batch from the log alone, from the resume points and from the start', async () => {
    const log = await madeRun();
    for (const fromStart of [false, true]) {
      const { steps, differing } = await replayed(log, {}, { fromStart });
      expect(steps.map(({ step, ok, from }) => [step, ok, from])).toEqual(
        [1, 2, 3, 4].map((n) => [n, true, fromStart ? 'start' : 'resume']),
      );
      expect(differing).toBe(0);
      expect(steps.flatMap(({ differences }) => differences)).toEqual([]);
    }
    const { steps } = await replayed(log, {}, { first: 2, last: 3 });
    expect(steps.map(({ step, groups }) => [step, groups])).toEqual([
      [2, 2],
      [3, 2],
    ]);
    expect(steps[0]).toMatchObject({ tokens: 10 * steps[0]!.trajectories, update: undefined });
    expect(steps[0]!.compared).toBeGreaterThan(100);
  });

  it('leaves an unfinished trajectory out of its batch, even if it is finished later', async () => {
    const log = await madeRun({}, true);
    const all = (await replayed(log)).steps;
    expect(all.map(({ trajectories }) => trajectories).sort()).toEqual([7, 8, 8, 8]);
    const late = { trajectory: 'run-a-g000002.2', attempt: 1 };
    const key = 'run-a-g000002';
    await log.writer().append([
      { type: 'TurnRecorded', key, event: turn({ ...late, sequence: 1 }, 0) },
      { type: 'TrajectoryFinished', key, event: finished({ ...late, sequence: 2 }, 1) },
    ]);
    expect((await replayed(log, {}, { fromStart: true })).differing).toBe(0);
  });

  it('repeats the updates with the parameters that the run recorded, whatever is configured', async () => {
    const log = await madeRun();
    const { steps, differing } = await replayed(log, { openLearner: openWith({ algorithm: 'reinforce', learningRate: 9 }) });
    expect(differing).toBe(0);
    expect(steps.map(({ update }) => update)).toEqual(Array(4).fill({ backend: 'cpu', recordedBackend: 'cpu', largestDifference: 0 }));
    const one = await replayed(log, { openLearner: openWith({}) }, { first: 4 });
    expect(one.steps).toMatchObject([{ step: 4, ok: true }]);
  });

  it('repeats the updates of REINFORCE from the first step of the process on', async () => {
    const learner = hashLearner({ algorithm: 'reinforce' });
    const log = await madeRun({ learner, settings: { ...settings, algorithm: 'reinforce', steps: 4 } });
    const openLearner = openWith({});
    expect((await replayed(log, { openLearner }, { first: 3 })).steps.map(({ step, ok }) => [step, ok])).toEqual([
      [3, true],
      [4, true],
    ]);
  });

  it.each(['grpo', 'reinforce'])('resumes with the recorded parameters after a restart, and repeats both parts: %s', async (algorithm) => {
    const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
    await worker(log, () => false);
    const stop = new AbortController();
    const report: TrainerDeps['report'] = ({ figures }) => {
      if (figures['step'] === 2) stop.abort();
    };
    const used = { ...settings, algorithm };
    const begun = hashLearner({ algorithm, learningRate: 0.1 });
    expect(await runTrainer(depsOf(log, { learner: begun, report, settings: used }), stop.signal)).toMatchObject({ kind: 'stopped' });
    const other = hashLearner({ algorithm: 'grpo', learningRate: 7 });
    expect(await runTrainer(depsOf(log, { learner: other, producer: 'trainer/t-1' }), never)).toMatchObject({ kind: 'finished' });
    expect(other.parameters).toEqual({ algorithm, learningRate: 0.1 });
    const { steps } = await replayed(log, { openLearner: openWith({}) });
    expect(steps.map(({ ok }) => ok)).toEqual([true, true, true, true]);
  });

  it('reports how much the weights differ on another backend', async () => {
    const log = await madeRun();
    const { steps, differing } = await replayed(log, { openLearner: openWith({}, 'wasm') }, { first: 2, last: 2 });
    expect(differing).toBe(1);
    expect(steps[0]!.update).toMatchObject({ backend: 'wasm', recordedBackend: 'cpu' });
    expect(steps[0]!.update!.largestDifference).toBeGreaterThan(0);
    expect(steps[0]!.differences.map(({ field }) => field)).toEqual(['weights_sha256', 'optimizer_sha256']);
  });
});
