// Model test of the trainer's state: a random history of admissions, records (repeated, with holes, late, of unknown
// and future versions, of attempts that end after another or with other tokens), attached rewards (waited for in every other history), expiries, discards and steps; at any moment a restart at the resume point, and a fold of the
// whole log, give the same state as the one that lived through it, also when retention deleted tasks meanwhile; and when it
// deleted rollouts as well, every trajectory that was admitted still gets an outcome.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, rewarded, started, turn } from '../../infra/testing/rollout-events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { seeded } from '../../infra/testing/events.ts';
import { groupIdOf } from '../../streams/core/ids.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { EventReader, OutgoingEvent } from '../../streams/core/ports.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { foldRequest, newGroup, type Group, type Trajectory } from '../../streams/group/group.ts';
import type { LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier, type LedgerReport } from '../../streams/ledger/verify.ts';
import { foldLedger, foldRollout, foldTask, noteRead } from '../../streams/run/fold.ts';
import { rolloutView, type RolloutEvent } from '../../streams/run/rollout-view.ts';
import { resumeOf } from '../../streams/run/resume.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { newAttempt, rewardOf, statusOf, spansOf } from '../../streams/trajectory/attempt.ts';
import { prepareBatch } from './batches.ts';
import { sha256Of } from './checkpoints.ts';
import { TOLD_NOTHING } from './commit-parts.ts';
import { createCommitter, type Committer } from './committer.ts';
import { committedMarks } from './cut-log.ts';
import { createLiveness, type Expiry } from './liveness.ts';
import { planNow, type PlanInputs } from './plan.ts';
import { recoverRun } from './recover.ts';
import { createRewardWait } from './reward-wait.ts';
import { restoreRequests } from './restore-requests.ts';
import { packSnapshot, unpackSnapshot } from './snapshot.ts';
import type { RunSettings } from './settings.ts';

const runId = 'run-a';
const settings: RunSettings = {
  seed: 1,
  algorithm: 'grpo',
  dataset: 'factbook',
  groupSize: 2,
  batchGroups: 2,
  maxStaleness: 1,
  maxConcurrent: 4,
  maxAttempts: 2,
  stalePolicy: 'discard',
  steps: 0,
  reward: 'f1',
  maxTurns: 8,
  maxTokens: 1_000,
  maxWallMs: 1_000,
  silenceMs: 1_000,
  maxDiscarded: 1,
};
const question = { question_id: 'q-0', question: 'Which?', answers: ['a'], aug_answers: [] };
const update = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };

interface RecoveryWorld {
  readonly log: MemoryLog;
  readonly events: EventReader;
  readonly state: RunState;
  readonly committer: Committer;
  readonly closedIds: string[];
  /** Attempts that had ended when their group closed. */
  readonly ended: string[];
  readonly violations: string[];
}

const policyOf = (version: number) => {
  const weights = Buffer.from(`weights ${version}`);
  return {
    version,
    parent: version - 1,
    sha256: sha256Of(weights),
    format: 'mlp-f32-v1',
    weights,
    uri: '',
    optimizer: Buffer.alloc(0),
    optimizer_sha256: sha256Of(Buffer.alloc(0)),
    ...{ bytes: 0, manifest: [], loadable: true },
    architecture: '{}',
    backend: 'cpu',
  };
};

const questions = { count: 1, at: () => question, find: () => question };

async function committerOf(log: MemoryLog, state: RunState): Promise<Committer> {
  const author = { runId, producer: 'trainer/t-0', codec: log.codec, now: () => 1_000 };
  const writer = await log.transactional('t');
  const start = { training: 0, policies: 0 };
  return createCommitter({
    author,
    state,
    settings,
    questions,
    writer,
    start,
    offsetsGroup: 'trainer',
    metrics: noMetrics,
    nowMs: () => 1,
    workerNow: () => 1,
    claim: 'trainer',
  });
}

/** The state of a trainer that was started anew, and has read all that there is. */
async function restart(world: Pick<RecoveryWorld, 'log' | 'events'>, snapshot?: Buffer): Promise<{ state: RunState; skipped: number }> {
  const snapshots = snapshot === undefined ? {} : { snapshots: { read: async () => snapshot } };
  const marks = () => committedMarks(world.log.offsets, 'trainer');
  const { state, skipped } = await recoverRun({
    runId,
    log: world.log.reader(),
    events: world.events,
    marks,
    afterCut: true,
    ...snapshots,
  });
  restoreRequests(state, { producer: 'trainer/t-1', settings, questions });
  await foldRollouts(world, state);
  return { state, skipped: skipped.length };
}

/** Deletes some of the oldest records of every partition, as retention does. */
async function deleteSome(log: MemoryLog, topic: 'tasks' | 'rollouts', random: () => number): Promise<void> {
  for (const { partition, first, end } of await log.reader().bounds(topic)) {
    if (random() < 0.7) log.deleteBefore(topic, partition, first + Math.floor(random() * (end - first + 1)));
  }
}

/** Takes some of the newest rollouts of every partition away, as a power loss does, and writes others in their places. */
async function cutSome(world: RecoveryWorld, random: () => number): Promise<void> {
  for (const { partition, end } of await world.log.reader().bounds('rollouts')) {
    const start = world.state.started?.resume.rollouts.find((one) => one.partition === partition)?.offset ?? 0;
    if (random() < 0.3) world.log.elect('rollouts', partition);
    else world.log.cutTail('rollouts', partition, Math.max(start, end - Math.floor(random() * 20)));
  }
  for (let left = Math.floor(random() * 20); left > 0; left -= 1) await (random() < 0.7 ? emitRecord : emitAttempt)(world, random);
}

async function newWorld(rewardNames: string): Promise<RecoveryWorld> {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  // another run shares the topics, so that positions do not begin at 0
  await log.writer().append([{ type: 'WorkerHeartbeat', key: 'other', event: { ...heartbeatOfOther } }]);
  const state = newRunState(runId);
  const committer = await committerOf(log, state);
  for (const { partition, end } of await log.reader().bounds('rollouts')) state.rolloutPositions.set(partition, end);
  for (const { partition, end } of await log.reader().bounds('tasks')) state.taskPositions.set(partition, end);
  const weights = policyOf(0);
  const run = { seed: 1, algorithm: 'grpo', backend: 'cpu', learner: '{}', steps: 0, dataset: 'factbook', weights_sha256: weights.sha256 };
  const limits = { group_size: 2, batch_groups: 2, max_staleness: 1, max_concurrent: 4, max_attempts: 2, stale_policy: 'discard' };
  await committer.begin({ ...run, ...limits, resume: resumeOf(state), settings: JSON.stringify({ requests: { rewardNames } }) }, weights);
  return { log, events: codecReader(log.codec), state, committer, closedIds: [], ended: [], violations: [] };
}

const heartbeatOfOther = {
  event_id: 'w/heartbeat/0',
  run_id: 'run-b',
  occurred_at: 1,
  producer: 'worker/w',
  worker_id: 'w',
  policy_version: 0,
  capacity: 1,
  running: [],
};

async function foldRollouts(world: Pick<RecoveryWorld, 'log' | 'events'>, state: RunState): Promise<void> {
  await world.log.reader().readToEnd('rollouts', {
    from: state.rolloutPositions,
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await world.events.read(record);
        if (read.ok && read.value.type in rolloutView && read.value.event.run_id === runId)
          foldRollout(state, read.value as RolloutEvent, record);
      }
      noteRead(state, batch);
    },
  });
}

const everyTrajectory = (state: RunState): { group: Group; trajectory: Trajectory }[] =>
  [...state.groups.values()].flatMap((group) => [...group.trajectories.values()].map((trajectory) => ({ group, trajectory })));

function planOf(state: RunState, given: Partial<PlanInputs> = {}) {
  return planNow(state, { settings, training: [], expiries: [], version: state.version, admitting: true, ...given });
}

async function emitRecord(world: RecoveryWorld, random: () => number): Promise<void> {
  const id = pickTrajectory(world, random);
  if (id === undefined) return;
  const trajectory = world.state.groups.get(groupIdOf(id))?.trajectories.get(id);
  const attempt = random() < 0.2 ? Math.floor(random() * 3) : (trajectory?.request.attempt ?? 0);
  const sequence = nextSequence(trajectory?.attempts.get(attempt)?.contiguous, random);
  const version = world.state.version - Math.floor(random() * 3) + Math.floor(random() * 2);
  const event = recordAt({ trajectory: id, attempt, sequence }, version, random);
  await world.log.writer().append([event, ...(random() < 0.1 ? [event] : [])]);
  await foldRollouts(world, world.state);
}

/** A reward for an attempt that was requested, or may be: mostly a new one, now and then one that is there already. */
async function attach(world: RecoveryWorld, random: () => number): Promise<void> {
  const id = pickTrajectory(world, random);
  if (id === undefined) return;
  const asked = world.state.groups.get(groupIdOf(id))?.trajectories.get(id)?.request.attempt ?? 0;
  const attempt = random() < 0.8 ? asked : Math.floor(random() * 3);
  const [name, identifier] = [random() < 0.8 ? 'human' : 'style', `i${Math.floor(random() * 3)}`];
  const turnOf = Math.floor(random() * 3) - 1;
  // an identity has one value
  const value = Buffer.from(`${id}/${attempt}/${turnOf}/${name}/${identifier}`).reduce((sum, byte) => sum + byte, 0) / 7;
  const event = rewarded({ trajectory: id, attempt }, value, { name, identifier, turn: turnOf });
  await world.log
    .writer()
    .append(Array.from({ length: random() < 0.2 ? 2 : 1 }, () => ({ type: 'RewardAttached', key: groupIdOf(id), event })));
  await foldRollouts(world, world.state);
}

/** An attempt from its beginning to its end, in one go: a late answer, now and then with a hole or a wrong count. */
async function emitAttempt(world: RecoveryWorld, random: () => number): Promise<void> {
  const id = pickTrajectory(world, random);
  if (id === undefined) return;
  const asked = world.state.groups.get(groupIdOf(id))?.trajectories.get(id)?.request.attempt ?? 0;
  const attempt = Math.floor(random() * (asked + 1));
  const [turns, key] = [Math.floor(random() * 3), groupIdOf(id)];
  const place = (sequence: number) => ({ trajectory: id, attempt, sequence });
  const off = random() < 0.1 ? 1 : 0;
  const events: OutgoingEvent[] = [
    { type: 'TrajectoryStarted', key, event: started(place(0)) },
    ...Array.from({ length: turns }, (_, i): OutgoingEvent => {
      return { type: 'TurnRecorded', key, event: turn(place(i + 1), world.state.version - Math.floor(random() * 3)) };
    }),
    {
      type: 'TrajectoryFinished',
      key,
      event: finished(place(turns + 1), Math.floor(random() * 3) / 2, { completion_tokens: 10 * turns + off }),
    },
  ];
  const hole = random() < 0.15 ? Math.floor(random() * (turns + 1)) : -1;
  await world.log.writer().append(events.filter((_, i) => i !== hole));
  await foldRollouts(world, world.state);
}

/** Mostly one of an open group, now and then one of a group that is closed. */
function pickTrajectory(world: RecoveryWorld, random: () => number): string | undefined {
  const open = everyTrajectory(world.state).map(({ trajectory }) => trajectory.id);
  const from = random() < 0.1 && world.closedIds.length > 0 ? world.closedIds : open;
  return from[Math.floor(random() * from.length)];
}

/** Mostly the next one; now and then one seen before, or one beyond a hole. */
const nextSequence = (contiguous: number | undefined, random: () => number): number =>
  Math.max(0, (contiguous ?? 0) + (random() < 0.1 ? 1 : 0) - (random() < 0.15 ? 1 : 0));

function recordAt(place: { trajectory: string; attempt: number; sequence: number }, version: number, random: () => number): OutgoingEvent {
  const key = place.trajectory.split('.')[0] ?? '';
  if (place.sequence === 0) return { type: 'TrajectoryStarted', key, event: started(place) };
  if (random() < 0.4) {
    const status = random() < 0.1 ? 'cancelled' : 'answered';
    return { type: 'TrajectoryFinished', key, event: finished(place, Math.floor(random() * 3) / 2, { status }) };
  }
  return { type: 'TurnRecorded', key, event: turn(place, version) };
}

const isWaiting = ({ winner, settled, exhausted }: Trajectory): boolean => winner !== undefined && !settled && !exhausted;

async function expire(world: RecoveryWorld, random: () => number): Promise<void> {
  const open = everyTrajectory(world.state).filter(({ trajectory }) => trajectory.winner === undefined && !trajectory.exhausted);
  const waiting = everyTrajectory(world.state).filter(({ trajectory }) => isWaiting(trajectory));
  const unrewarded = waiting[Math.floor(random() * waiting.length)]?.trajectory;
  if (unrewarded?.winner !== undefined && random() < 0.5)
    return carryOut(world, [{ trajectory: unrewarded, attempt: unrewarded.winner, reason: 'reward_timeout' }]);
  const picked = open[Math.floor(random() * open.length)];
  if (picked === undefined) return;
  const expiry: Expiry = { trajectory: picked.trajectory, attempt: picked.trajectory.request.attempt, reason: 'silent' };
  await carryOut(world, [expiry]);
}

async function carryOut(world: RecoveryWorld, expiries: readonly Expiry[]): Promise<void> {
  const before = openGroups(world.state);
  const plan = planOf(world.state, { expiries });
  if (!plan.any) return;
  await world.committer.carryOut(plan);
  noteClosed(world, before);
  const { running, accepted } = planOf(world.state).terms;
  const bound = (settings.maxStaleness + world.state.version + 1) * settings.batchGroups;
  if (accepted + running > bound || running > settings.maxConcurrent) world.violations.push(`admitted ${accepted}+${running} of ${bound}`);
}

/** Open groups, and their attempts that have ended. */
function openGroups(state: RunState): ReadonlyMap<string, readonly string[]> {
  const ended = ({ id, attempts }: Trajectory): string[] =>
    [...attempts.values()].filter(({ ending }) => ending !== undefined).map(({ number }) => `${id}/${number}`);
  return new Map([...state.groups.values()].map((group) => [group.id, [...group.trajectories.values()].flatMap(ended)]));
}

function noteClosed(world: RecoveryWorld, before: ReadonlyMap<string, readonly string[]>): void {
  for (const [id, ended] of before) {
    if (world.state.groups.has(id)) continue;
    world.closedIds.push(`${id}.0`, `${id}.1`);
    world.ended.push(...ended);
  }
}

/** Every outcome in the ledger, by attempt: `trained` or the reason of the discard. */
async function outcomesOf(world: RecoveryWorld): Promise<readonly (readonly [attempt: string, outcome: string])[]> {
  const outcomes: (readonly [string, string])[] = [];
  await world.log.reader().readToEnd('training', {
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await world.events.read(record);
        if (!read.ok) continue;
        const { type, event } = read.value;
        const name = (row: { trajectory_id: string; attempt: number }): string => `${row.trajectory_id}/${row.attempt}`;
        if (type === 'TrajectoryDiscarded') outcomes.push([name(event), event.reason]);
        if (type === 'StepCompleted') outcomes.push(...event.trajectories.map((row) => [name(row), 'trained'] as const));
      }
    },
  });
  return outcomes;
}

async function step(world: RecoveryWorld): Promise<void> {
  const { state } = world;
  const { batch } = planOf(state).selection;
  if (batch.length < settings.batchGroups) return;
  const prepared = prepareBatch(batch, state.version, { nowMs: 1, waitedSinceMs: 0, positions: state.rolloutPositions });
  const worst = Math.max(...prepared.trajectories.map(({ staleness }) => staleness.worst));
  if (worst > settings.maxStaleness) world.violations.push(`trained at staleness ${worst}`);
  const policy = policyOf(state.version + 1);
  const before = openGroups(state);
  await world.committer.step(
    {
      batch: prepared,
      update: { metrics: update, trainMs: 1 },
      told: TOLD_NOTHING,
      weightsSha256: policy.sha256,
      optimizerSha256: policy.optimizer_sha256,
      policy,
    },
    planOf(state, { version: state.version + 1, training: batch }),
  );
  noteClosed(world, before);
}

/** Everything of a state that decides anything. */
function summary(state: RunState) {
  const groups = [...state.groups.values()]
    .sort((a, b) => a.order - b.order)
    .map((group) => ({
      id: group.id,
      decided: state.decided.has(group.id),
      trajectories: [...group.trajectories.values()]
        .sort((a, b) => a.sample - b.sample)
        .map(({ id, winner, settled, exhausted, request, attempts }) => ({
          ...{ id, winner, settled, exhausted, asked: request.attempt },
          attempts: [...attempts.values()]
            .sort((a, b) => a.number - b.number)
            .map((attempt) => ({
              number: attempt.number,
              status: statusOf(attempt),
              tokens: attempt.tokens,
              spans: spansOf(attempt),
              reward: rewardOf(attempt),
            })),
        })),
    }));
  return { version: state.version, weights: state.weightsSha256, chain: state.chain, counters: { ...state.counters }, groups };
}

async function foldFromZero(world: RecoveryWorld): Promise<RunState> {
  const state = newRunState(runId);
  const each = async (topic: 'training' | 'tasks', fold: (value: never, at: { body: Buffer; partition: number; offset: number }) => void) =>
    world.log.reader().readToEnd(topic, {
      onBatch: async (batch) => {
        for (const record of batch.records) {
          const read = await world.events.read(record);
          if (read.ok) fold(read.value as never, { body: bodyOf(record.value ?? Buffer.alloc(5)), ...record });
        }
      },
    });
  await each('training', (entry: LedgerEntry, at) => {
    foldLedger(state, entry, at);
  });
  await each('tasks', (read: { event: Parameters<typeof foldTask>[1] }, at) => {
    foldTask(state, read.event, at);
  });
  await foldRollouts(world, state);
  return state;
}

async function ledgerOf(world: RecoveryWorld): Promise<LedgerReport> {
  const verifier = createLedgerVerifier();
  await world.log.reader().readToEnd('training', {
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await world.events.read(record);
        if (read.ok) verifier.entry(read.value as LedgerEntry, bodyOf(record.value ?? Buffer.alloc(5)), record.offset);
      }
    },
  });
  for (let version = 0; version <= world.state.version; version += 1) {
    const policy = { ...policyOf(version), event_id: '', run_id: runId, occurred_at: 1, producer: '' };
    verifier.policy(policy, policy.sha256);
  }
  return verifier.report();
}

const openTrajectories = (state: RunState): number => [...state.groups.values()].reduce((sum, { size }) => sum + size, 0);

/** Gives up what nobody answers any more, until every group has an outcome. */
async function giveUp(world: RecoveryWorld): Promise<readonly string[]> {
  const reasons: string[] = [];
  for (let round = 0; round <= settings.maxAttempts; round += 1) {
    const liveness = createLiveness({ silenceMs: 0 });
    liveness.live(0);
    liveness.claimed(new Map([0, 1].map((partition) => [partition, Infinity])));
    liveness.expired(world.state, 1);
    const rewards = createRewardWait({ timeoutMs: 0 });
    rewards.expired(world.state, 1);
    const expiries = [...liveness.expired(world.state, Number.MAX_SAFE_INTEGER), ...rewards.expired(world.state, 2)];
    reasons.push(...expiries.map(({ reason }) => reason));
    const plan = planOf(world.state, { expiries, admitting: false });
    if (plan.any) await world.committer.carryOut(plan);
  }
  return reasons;
}

async function live(
  seed: number,
  moves: number,
  each: (move: number, world: RecoveryWorld) => void = () => undefined,
): Promise<RecoveryWorld> {
  const random = seeded(seed);
  const world = await newWorld(seed % 2 === 0 ? '' : 'human');
  await carryOut(world, []);
  for (let i = 0; i < moves; i += 1) {
    const dice = random();
    if (dice < 0.2) await attach(world, random);
    else if (dice < 0.6) await emitRecord(world, random);
    else if (dice < 0.75) await emitAttempt(world, random);
    else if (dice < 0.85) await carryOut(world, []);
    else if (dice < 0.92) await expire(world, random);
    else await step(world);
    each(i, world);
  }
  return world;
}

/** Lives on after the snapshot; `keep` is called once, at a random moment. */
async function liveWithSnapshot(seed: number, moves: number): Promise<{ readonly world: RecoveryWorld; readonly snapshot: Buffer }> {
  const random = seeded(seed + 1);
  const at = Math.floor(random() * (moves + 1));
  let snapshot: Buffer = Buffer.alloc(0);
  const world = await live(seed, moves, (move, { state }) => {
    if (move === at) snapshot = packSnapshot(state);
  });
  return { world, snapshot: snapshot.length === 0 ? packSnapshot(world.state) : snapshot };
}

describe('the state of a run', () => {
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

  it('is the same after a restart and after a fold of the whole log when tasks were deleted', async () => {
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

  it('gives every trajectory an outcome, whatever retention deleted and however often the trainer restarts', async () => {
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
        expect(reasons.includes('lost_request') ? skipped : 1, 'what is missing is told').toBeGreaterThan(0);
        expect(state.decided.size, 'every open group has an outcome').toBe(state.groups.size);
        expect(await ledgerOf(world)).toMatchObject({ problems: [], open: openTrajectories(state) });
        expect(summary((await restart(world)).state)).toEqual(summary(state));
      }),
      { numRuns: 100 },
    );
    expect(lost).toBeGreaterThan(10);
  });

  it('is that of the log after its newest rollouts were lost and others took their places, with and without a snapshot', async () => {
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

  it('is the same after a restart from a snapshot of any moment, which is used', async () => {
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
        const kept = [...(unpackSnapshot(snapshot, runId)?.rolloutPositions.values() ?? [])].reduce((sum, offset) => sum + offset, 0);
        expect(start).toBeGreaterThanOrEqual(kept);
        await foldRollouts(world, resumed);
        expect(summary(resumed)).toEqual(summary(world.state));
        expect(resumeOf(resumed)).toEqual(resumeOf(world.state));
      }),
      { numRuns: 100 },
    );
  });

  it('is the same with a snapshot that is damaged, of another run, or of another ledger', async () => {
    const { world, snapshot } = await liveWithSnapshot(3, 120);
    const other = await live(4, 120);
    const damaged = Buffer.from(snapshot);
    damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1;
    const ofAnotherRun = packSnapshot({ ...world.state, runId: 'run-b' });
    const beyond = packSnapshot({ ...world.state, rolloutPositions: new Map([[0, 1_000_000]]) });
    for (const bytes of [damaged, snapshot.subarray(0, 100), Buffer.alloc(0), ofAnotherRun, packSnapshot(other.state), beyond]) {
      expect(summary((await restart(world, bytes)).state)).toEqual(summary(world.state));
    }
  });

  it('has the shape that the format of snapshots stands for', () => {
    const state = newRunState(runId);
    const group = newGroup({ group_id: 'g' } as TrajectoryRequested);
    foldRequest(group, { trajectory_id: 't' } as TrajectoryRequested, { partition: 0, offset: 0 });
    const [trajectory] = group.trajectories.values();
    const names = (value: object = {}): string => Object.keys(value).sort().join(' ');
    expect([state, state.chain, state.leases, group, trajectory, newAttempt(0)].map(names), 'raise FORMAT in snapshot.ts').toEqual([
      'admitted chain closed closedLast counters decided exhausted finished groups idleSteps lateRecords leases ledgerPosition optimizerSha256 plannedSteps recent rewardNames rolloutMarks rolloutPositions runId started taskPositions version weightsSha256',
      'previousSha256 sequence',
      'commits epoch out trainerId tries',
      'awaited firstOffsets hasAttached id lastFirst lastPartition order questionId resolved size tasks trajectories',
      'attempts exhausted id latest request requestOffset requestPartition sample settled winner',
      'ahead attached contiguous decisions ending number ordered spans spansEnd tokens workerId',
    ]);
  });

  it('goes somewhere: long histories train, discard and expire', async () => {
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
