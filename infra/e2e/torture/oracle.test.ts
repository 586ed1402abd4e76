// The oracle finds no problem in a good log, and detects every kind of corruption. The real trainer writes the log in memory, with scripted
// workers that lose attempts, finish late, leave gaps, and answer every question the same.
import { describe, expect, it } from 'vitest';
import type { RunFacts } from './facts.ts';
import { judgeRun } from './oracle.ts';
import type { ProblemKind } from './problem.ts';
import { edit } from './edit-fact.testing.ts';
import { good, setUpGoodLog } from './good-log.testing.ts';
import { STEPS } from './scripted-log.testing.ts';
import {
  vanished,
  cutAway,
  withStep,
  withoutEntry,
  forgotten,
  trainedTwice,
  addDiscard,
  trainedRow,
  withRow,
  withPolicy,
  withTurn,
  withRecords,
  withEntry,
  withTask,
} from './wrong-logs.testing.ts';

setUpGoodLog();

describe('the oracle', () => {
  it('counts groups by outcome, and those that left no trace separately', () => {
    const { groups } = judgeRun(good);
    expect(groups).toMatchObject({ lost: 0 });
    expect(groups.trained + groups.discarded + groups.open).toBe(groups.admitted);
    expect(judgeRun(vanished()).groups).toEqual({ ...groups, open: groups.open - 1, lost: 1 });
  });

  it('accounts for records that the log has lost', () => {
    expect(judgeRun(cutAway()).problems).toEqual([]);
    expect(judgeRun({ ...cutAway(), gone: [] }).found).toMatchObject({ step: expect.any(Number) as number });
  });

  it('finds no problem in a log that the trainer wrote', () => {
    const verdict = judgeRun(good);
    expect(verdict.problems).toEqual([]);
    expect(verdict).toMatchObject({ steps: STEPS, found: {} });
    expect(verdict.trained + verdict.discarded + verdict.open).toBe(verdict.admitted);
    expect(Object.keys(verdict.discards)).toEqual(expect.arrayContaining(['uniform_group', 'expired']));
    expect(verdict.worstStaleness).toBeGreaterThan(0);
    expect(verdict.attempts).toBeGreaterThan(verdict.trained);
  });

  it.each<readonly [string, ProblemKind, () => RunFacts]>([
    ['a trajectory that a step leaves out', 'lost', () => withStep((event) => ({ ...event, trajectories: event.trajectories.slice(1) }))],
    ['a discard that is missing', 'lost', () => withoutEntry('TrajectoryDiscarded')],
    ['a group that is forgotten', 'order', forgotten],
    ['a trajectory in two steps', 'doubled', trainedTwice],
    ['a discard of a trained trajectory', 'doubled', () => addDiscard({ ...trainedRow(), reason: 'stale' })],
    ['a discard of an attempt that was trained on', 'doubled', () => addDiscard({ ...trainedRow(), reason: 'superseded' })],
    [
      'a trajectory that was not admitted',
      'stranger',
      () => withRow((row) => ({ ...row, trajectory_id: 'run-a-g999999.0', group_id: 'run-a-g999999' })),
    ],
    ['a missing step', 'version', () => withoutEntry('StepCompleted', 5)],
    ['a step with a wrong number', 'version', () => withStep((event) => ({ ...event, step: event.step + 1 }))],
    ['weights that are not those of the step', 'version', () => withStep((event) => ({ ...event, weights_sha256: '0'.repeat(64) }))],
    ['weights that do not have their hash', 'version', () => withPolicy((event) => ({ ...event, weights: Buffer.from('other') }))],
    ['a version that was not published', 'version', () => ({ ...good, policies: good.policies.filter((_, i) => i !== 4) })],
    ['another attempt than the first that counts', 'step', () => withRow((row) => ({ ...row, attempt: row.attempt + 1 }))],
    ['a wrong reward', 'step', () => withRow((row) => ({ ...row, reward: row.reward + 0.5 }))],
    ['a wrong advantage', 'step', () => withRow((row) => ({ ...row, advantage: row.advantage * 1.001 }))],
    ['wrong tokens', 'step', () => withRow((row) => ({ ...row, tokens: row.tokens + 1 }))],
    ['a wrong staleness', 'step', () => withRow((row) => ({ ...row, staleness_total: row.staleness_total + 1 }))],
    [
      'a split of the staleness that does not add up',
      'step',
      () => withRow((row) => ({ ...row, staleness_in_flight: row.staleness_in_flight + 1 })),
    ],
    ['unknown tokens that are not reported', 'step', () => withTurn((part) => ({ ...part, spans: [] }))],
    [
      'a wrong mean',
      'step',
      () => withStep((event) => ({ ...event, metrics: { ...event.metrics, staleness_mean: event.metrics.staleness_mean + 0.1 } })),
    ],
    ['a wrong hash of the batch', 'step', () => withStep((event) => ({ ...event, batch_sha256: '0'.repeat(64) }))],
    [
      'a decision that is not what was trained on',
      'step',
      () => withTurn((part) => ({ ...part, decision: { ...part.decision!, chosen: 1 } })),
    ],
    [
      'features that are not what was trained on',
      'step',
      () => withTurn((part) => ({ ...part, decision: { ...part.decision!, features: Buffer.alloc(16) } })),
    ],
    ['a hole in an attempt that was trained on', 'step', () => withRecords((fact) => (fact.sequence === 1 ? [] : [fact]))],
    ['groups in another order', 'step', () => withStep((event) => ({ ...event, trajectories: [...event.trajectories].reverse() }))],
    ['a wrong reason of a uniform group', 'discard', () => withEntry('TrajectoryDiscarded', (event) => ({ ...event, reason: 'stale' }), 0)],
    [
      'a discard with other tokens',
      'discard',
      () => withEntry('TrajectoryDiscarded', (event) => ({ ...event, tokens: event.tokens + 1 }), 0),
    ],
    [
      'a trajectory called lost that is in the log',
      'discard',
      () => ({
        ...good,
        training: good.training.map((fact) =>
          fact.read.type === 'TrajectoryDiscarded' && fact.read.event.reason === 'expired'
            ? edit<'TrajectoryDiscarded'>(fact, (event) => ({ ...event, reason: 'lost' }))
            : fact,
        ),
      }),
    ],
    ['a reason that does not exist', 'discard', () => withEntry('TrajectoryDiscarded', (event) => ({ ...event, reason: 'whim' }), 0)],
    [
      'a trajectory given up too early',
      'discard',
      () => ({
        ...good,
        training: good.training.map((fact) =>
          fact.read.type === 'TrajectoryExpired' ? edit<'TrajectoryExpired'>(fact, (event) => ({ ...event, next_attempt: 1 })) : fact,
        ),
      }),
    ],
    ['a group without any trace in the log', 'lost', vanished],
    ['tokens that are too old', 'staleness', () => withEntry('RunStarted', (event) => ({ ...event, max_staleness: 0 }), 0)],
    ['more groups than the bound allows', 'admission', () => withEntry('RunStarted', (event) => ({ ...event, max_staleness: 1 }), 0)],
    [
      'more groups at once than allowed',
      'admission',
      () => withEntry('GroupsAdmitted', (event) => ({ ...event, running: event.running + 6 }), 3),
    ],
    ['an accepted count that starts again', 'admission', () => withEntry('GroupsAdmitted', (event) => ({ ...event, accepted: 0 }), 6)],
    ['a request that is missing', 'request', () => withTask(() => [])],
    ['a request that was made twice', 'request', () => withTask((fact) => [fact, { ...fact, offset: fact.offset + 1_000 }])],
    ['an attempt that two workers ran', 'attempt', () => withRecords((fact) => [fact, { ...fact, worker: 'w-9' }])],
    ['an attempt that was written twice', 'attempt', () => withRecords((fact) => [fact, { ...fact, sha256: 'other' }])],
    ['an attempt that was not requested', 'attempt', () => withRecords((fact) => [fact, { ...fact, attempt: 7 }])],
    ['a broken chain', 'chain', () => withEntry('GroupsAdmitted', (event) => ({ ...event, previous_sha256: '0'.repeat(64) }), 2)],
    ['a missing entry', 'chain', () => withoutEntry('TrajectoryExpired', 0)],
    [
      'a resume point that passes over records',
      'resume',
      () =>
        withStep((event) => ({
          ...event,
          resume: { ...event.resume, rollouts: event.resume.rollouts.map((at) => ({ ...at, offset: at.offset + 1_000 })) },
        })),
    ],
    [
      'a resume point that passes over requests',
      'resume',
      () =>
        withStep((event) => ({
          ...event,
          resume: { ...event.resume, tasks: event.resume.tasks.map((at) => ({ ...at, offset: at.offset + 1_000 })) },
        })),
    ],
    [
      'a resume point with a wrong count',
      'resume',
      () => withStep((event) => ({ ...event, resume: { ...event.resume, trained_groups: 0 } })),
    ],
  ])('finds %s', (_what, kind, broken) => {
    expect(Object.keys(judgeRun(broken()).found)).toContain(kind);
  });
});
