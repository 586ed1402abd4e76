// Random histories of the recovery model: what workers, trainers, retention, and power losses do to a run.
import type { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, rewarded, started, turn } from '../../infra/testing/rollout-events.ts';
import { seeded } from '../../infra/testing/events.ts';
import { groupIdOf } from '../../streams/core/ids.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import type { Group, Trajectory } from '../../streams/group/group.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import { prepareBatch } from './batches.ts';
import { TOLD_NOTHING } from './commit-parts.ts';
import type { Expiry } from '../../streams/trainer/liveness.ts';
import { packSnapshot } from './snapshot.ts';
import { settings, type RecoveryWorld, policyOf, newWorld, foldRollouts, planOf } from './recovery-world.testing.ts';

const update = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };

const everyTrajectory = (state: RunState): { group: Group; trajectory: Trajectory }[] =>
  [...state.groups.values()].flatMap((group) => [...group.trajectories.values()].map((trajectory) => ({ group, trajectory })));

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

/** Attaches a reward to an attempt that was requested, or may be later: mostly a new one, now and then a repeated one. */
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

/** Deletes some of the oldest records of every partition, as retention does. */
export async function deleteSome(log: MemoryLog, topic: 'tasks' | 'rollouts', random: () => number): Promise<void> {
  for (const { partition, first, end } of await log.reader().bounds(topic)) {
    if (random() < 0.7) log.deleteBefore(topic, partition, first + Math.floor(random() * (end - first + 1)));
  }
}

/** Takes some of the newest rollouts of every partition away, as a power loss does, and writes others in their places. */
export async function cutSome(world: RecoveryWorld, random: () => number): Promise<void> {
  for (const { partition, end } of await world.log.reader().bounds('rollouts')) {
    const start = world.state.started?.resume.rollouts.find((one) => one.partition === partition)?.offset ?? 0;
    if (random() < 0.3) world.log.elect('rollouts', partition);
    else world.log.cutTail('rollouts', partition, Math.max(start, end - Math.floor(random() * 20)));
  }
  for (let left = Math.floor(random() * 20); left > 0; left -= 1) await (random() < 0.7 ? emitRecord : emitAttempt)(world, random);
}

export async function live(
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

const start = { training: 0, policies: 0 };

/** Also takes a snapshot at a random move, after which the history continues. */
export async function liveWithSnapshot(seed: number, moves: number): Promise<{ readonly world: RecoveryWorld; readonly snapshot: Buffer }> {
  const random = seeded(seed + 1);
  const at = Math.floor(random() * (moves + 1));
  let snapshot: Buffer = Buffer.alloc(0);
  const world = await live(seed, moves, (move, { state }) => {
    if (move === at) snapshot = packSnapshot({ state, start });
  });
  return { world, snapshot: snapshot.length === 0 ? packSnapshot({ state: world.state, start }) : snapshot };
}
