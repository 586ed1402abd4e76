// Model-based test of the trainer's state. A random history consists of admissions, rollout records, attached rewards (required in half of
// the histories), expiries, discards, and steps. Records may be repeated, missing, or late, and may name unknown or future versions; an
// attempt may end after another one of its trajectory, or with a wrong token count. A restart at the resume point and a fold of the whole
// log both give the state of a trainer that never stopped. If retention has deleted tasks, a restart still does; if it has deleted rollouts
// as well, every admitted trajectory still gets an outcome.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seeded } from '../../infra/testing/events.ts';
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { LogReader } from '../../streams/core/ports.ts';
import { foldRequest, newGroup } from '../../streams/group/group.ts';
import { resumeOf } from '../../streams/run/resume.ts';
import { newRunState } from '../../streams/run/run-state.ts';
import { newAttempt } from '../../streams/trajectory/attempt.ts';
import { recoverRun } from './recover.ts';
import { restoreRequests } from './restore-requests.ts';
import { packSnapshot, unpackSnapshot } from './snapshot.ts';
import { runId, settings, type RecoveryWorld, questions, committerOf, restart, foldRollouts } from './recovery-world.testing.ts';
import { deleteSome, cutSome, live, liveWithSnapshot } from './recovery-moves.testing.ts';
import { outcomesOf, summary, foldFromZero, ledgerOf, openTrajectories, giveUp } from './recovery-account.testing.ts';

describe('the state of a run', { timeout: 120_000 }, () => {
  it('is the same after a restart at the resume point and after a fold of the whole log', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 250 }), async (seed, moves) => {
        const world = await live(seed, moves);
        const lived = summary(world.state);
        const { state: resumed, skipped } = await restart(world);
        expect(skipped).toBe(0);
        expect(summary(resumed)).toEqual(lived);
        expect(summary(await foldFromZero(world))).toEqual(lived);
        expect(await ledgerOf(world)).toMatchObject({ problems: [], open: openTrajectories(world.state) });
        expect(world.violations).toEqual([]);
        const outcomes = await outcomesOf(world);
        const ended = new Set(world.ended);
        const told = outcomes.filter(([attempt, outcome]) => outcome !== 'expired' || ended.has(attempt)).map(([attempt]) => attempt);
        expect([...told].sort(), 'every attempt that had ended when its group closed has one outcome').toEqual([...world.ended].sort());
        const closed = [...new Set(outcomes.map(([attempt]) => attempt.split('/')[0]))].sort();
        expect(closed, 'every trajectory of a closed group has an outcome').toEqual([...world.closedIds].sort());
      }),
      { numRuns: 100 },
    );
  });

  it('is the same after a restart if tasks were deleted; a fold of the whole log then has the same groups and counters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 150 }), async (seed, moves) => {
        const world = await live(seed, moves);
        await deleteSome(world.log, 'tasks', seeded(seed + 2));
        const lived = summary(world.state);
        const { state } = await restart(world);
        expect(summary(state)).toEqual(lived);
        const refolded = await foldFromZero(world);
        restoreRequests(refolded, { producer: 'trainer/t-1', settings, questions });
        await foldRollouts(world, { ...refolded, rolloutPositions: new Map() });
        expect(summary(refolded).groups.map(({ id }) => id)).toEqual(lived.groups.map(({ id }) => id));
        expect({ ...refolded.counters }).toEqual(lived.counters);
      }),
      { numRuns: 100 },
    );
  });

  it('leads to an outcome of every trajectory, whatever retention deleted, and is the same after one more restart', async () => {
    let lost = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 150 }), async (seed, moves) => {
        const random = seeded(seed + 3);
        const first = await live(seed, moves);
        await deleteSome(first.log, 'tasks', random);
        await deleteSome(first.log, 'rollouts', random);
        const { state, skipped } = await restart(first);
        expect([...state.groups.keys()].sort(), 'no group is forgotten').toEqual([...first.state.groups.keys()].sort());
        const world: RecoveryWorld = { ...first, state, committer: await committerOf(first.log, state) };
        const reasons = await giveUp(world);
        lost += reasons.filter((reason) => reason === 'lost_request').length;
        expect(reasons.includes('lost_request') ? skipped : 1, 'missing records are reported').toBeGreaterThan(0);
        expect(state.decided.size, 'every open group has an outcome').toBe(state.groups.size);
        expect(await ledgerOf(world)).toMatchObject({ problems: [], open: openTrajectories(state) });
        expect(summary((await restart(world)).state)).toEqual(summary(state));
      }),
      { numRuns: 100 },
    );
    expect(lost).toBeGreaterThan(10);
  });

  it('follows the log after its newest rollouts were lost and replaced, with and without a snapshot', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 150 }), async (seed, moves) => {
        const { world, snapshot } = await liveWithSnapshot(seed, moves);
        await cutSome(world, seeded(seed + 4));
        const ofTheLog = summary(await foldFromZero(world));
        expect(summary((await restart(world)).state)).toEqual(ofTheLog);
        expect(summary((await restart(world, snapshot)).state)).toEqual(ofTheLog);
      }),
      { numRuns: 100 },
    );
  });

  it('is the same after a restart from a snapshot of any moment, and the snapshot is used', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 250 }), async (seed, moves) => {
        const { world, snapshot } = await liveWithSnapshot(seed, moves);
        const { state: resumed } = await recoverRun({
          runId,
          log: world.log.reader(),
          events: world.events,
          snapshots: { read: async () => snapshot },
        });
        const start = [...resumed.rolloutPositions.values()].reduce((sum, offset) => sum + offset, 0);
        const kept = [...(unpackSnapshot(snapshot, runId)?.state.rolloutPositions.values() ?? [])].reduce((sum, offset) => sum + offset, 0);
        expect(start).toBeGreaterThanOrEqual(kept);
        await foldRollouts(world, resumed);
        expect(summary(resumed)).toEqual(summary(world.state));
        expect(resumeOf(resumed)).toEqual(resumeOf(world.state));
      }),
      { numRuns: 100 },
    );
  });

  it('is restored from only the ledger entries that a snapshot does not cover, and the last one that it covers', async () => {
    const { world, snapshot } = await liveWithSnapshot(5, 300);
    const position = unpackSnapshot(snapshot, runId)?.state.ledgerPosition ?? 0;
    expect(position).toBeGreaterThan(10);
    const read: number[] = [];
    const log = world.log.reader();
    const counting: LogReader = {
      ...log,
      readToEnd: (topic, how) =>
        log.readToEnd(topic, {
          ...how,
          onBatch: (batch) => {
            if (topic === 'training') read.push(...batch.records.map(({ offset }) => offset));
            return how.onBatch(batch);
          },
        }),
    };
    await recoverRun({ runId, log: counting, events: world.events, snapshots: { read: async () => snapshot } });
    expect(Math.min(...read)).toBe(position - 1);
    expect(new Set(read).size).toBe(read.length);
  });

  it('is the same with a snapshot that is damaged, of another run, or of another ledger', async () => {
    const { world, snapshot } = await liveWithSnapshot(3, 120);
    const other = await live(4, 120);
    const start = { training: 0, policies: 0 };
    const damaged = Buffer.from(snapshot);
    damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1;
    const ofAnotherRun = packSnapshot({ state: { ...world.state, runId: 'run-b' }, start });
    const beyond = packSnapshot({ state: { ...world.state, rolloutPositions: new Map([[0, 1_000_000]]) }, start });
    const { chain } = world.state;
    const forked = packSnapshot({ state: { ...world.state, version: 999, chain: { ...chain, previousSha256: 'f'.repeat(64) } }, start });
    const others = [ofAnotherRun, packSnapshot({ state: other.state, start }), beyond, forked];
    for (const bytes of [damaged, snapshot.subarray(0, 100), Buffer.alloc(0), ...others]) {
      expect(summary((await restart(world, bytes)).state)).toEqual(summary(world.state));
    }
  });

  it('has the fields that the current snapshot format was made for', () => {
    const state = newRunState(runId);
    const group = newGroup({ group_id: 'g' } as TrajectoryRequested);
    foldRequest(group, { trajectory_id: 't' } as TrajectoryRequested, { partition: 0, offset: 0 });
    const [trajectory] = group.trajectories.values();
    const names = (value: object = {}): string => Object.keys(value).sort().join(' ');
    expect([state, state.chain, state.leases, group, trajectory, newAttempt(0)].map(names), 'raise FORMAT in snapshot.ts').toEqual([
      'admitted chain closed closedLast counters decided exhausted finished groups idleSteps lateRecords leases ledgerPosition optimizerSha256 plannedSteps recent rewardNames rewinds rolloutMarks rolloutPositions runId started taskPositions version weightsSha256',
      'previousSha256 sequence',
      'commits epoch out trainerId tries',
      'awaited firstOffsets hasAttached id lastFirst lastPartition order questionId resolved size tasks trajectories',
      'attempts exhausted id latest request requestOffset requestPartition sample settled winner',
      'ahead attached contiguous decisions ending number ordered spans spansEnd tokens workerId',
    ]);
  });

  it('has every outcome but lost, rewound, and unknown_version in long histories', async () => {
    const worlds = [await live(6, 1_000), await live(7, 1_000)];
    for (const { state } of worlds) {
      expect(state.version).toBeGreaterThan(2);
      expect(state.counters.discardedGroups).toBeGreaterThan(2);
      expect(state.lateRecords).toBeGreaterThan(0);
    }
    const outcomes = new Set((await Promise.all(worlds.map(outcomesOf))).flat().map(([, outcome]) => outcome));
    expect([...outcomes].sort()).toEqual(['expired', 'incomplete', 'invalid', 'stale', 'superseded', 'trained', 'uniform_group']);
  });
});
