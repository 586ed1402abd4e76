// The protocol of external trainers under random histories: trainers die before and after a step or a checkpoint, commits and responses are
// lost, the log fails, coordinators die while batches are leased, two trainers run at once, and trainers return with old checkpoints or
// without weights. In every history, no trajectory is trained twice along the chain of versions, and the coordinator's state equals a fold
// of the log.
import { describe, expect, it } from 'vitest';
import { seeded } from '../../../infra/testing/events.ts';
import type { Trajectory } from '../../../streams/group/group.ts';
import type { Expiry } from '../../../streams/trainer/liveness.ts';
import { planNow } from '../../../streams/trainer/plan.ts';
import { expireLeases, outGroups } from './leases.ts';
import {
  claims,
  commits,
  dies,
  extendsOrReleases,
  leases,
  newTrainer,
  note,
  pick,
  publishes,
  repeats,
  rewinds,
  trains,
  type ModelRun,
  type ModelTrainer,
} from './model-trainers.testing.ts';
import {
  byItself,
  differingSteps,
  LEASE_MS,
  ledgerOf,
  listen,
  modelSettings,
  newModelWorld,
  PREFETCH,
  refolded,
  restart,
  roll,
  summaryOf,
  verifyLedger,
} from './model-world.testing.ts';

const ACTIONS = Number(process.env['MODEL_ACTIONS'] ?? 2_000);
const SEEDS = Array.from({ length: Number(process.env['MODEL_RUNS'] ?? 3) }, (_, i) => i + 1);

type ModelAct = (run: ModelRun, trainer: ModelTrainer) => Promise<void> | void;

/** What can happen next, with its weight. Where `needsClaim`, a trainer that is not running claims the run instead. */
const acts: readonly (readonly [weight: number, act: ModelAct, needsClaim: boolean])[] = [
  [30, works, false],
  [14, (run) => plans(run, []), false],
  [2, gives, false],
  [16, leases, true],
  [16, trains, true],
  [16, (run, trainer) => commits(run, trainer), true],
  [3, repeats, true],
  [5, extendsOrReleases, true],
  [3, publishes, false],
  [
    2,
    (_run, trainer) => {
      dies(trainer);
    },
    true,
  ],
  [1, isOlder, true],
  [1, rewinds, true],
  [1, claims, false],
  [1, (run) => restart(run.world), false],
  [1, faults, false],
  [3, waits, false],
  [2, freezes, false],
];

const LOOP_MS = 100;

/** Time passes without a call. */
async function waits({ world, random }: ModelRun): Promise<void> {
  for (let leftMs = random() * 2 * LEASE_MS; leftMs > 0; leftMs -= LOOP_MS) {
    world.nowMs += LOOP_MS;
    await listen(world);
  }
}

/** Kafka is unavailable, or the coordinator is frozen: nobody can extend a lease, so none ends. */
async function freezes(run: ModelRun): Promise<void> {
  const { world, random, violations } = run;
  const leased = (): string => world.life.state.leases.out.map(({ batch_id: id }) => id).join();
  const before = leased();
  world.nowMs += Math.floor((2 + random() * 5) * LEASE_MS);
  await byItself(world, () => expireLeases(world.life, world.loop));
  for (const _ of [1, 2]) await listen(world);
  if (leased() !== before) violations.push(`${before} were leased before an interruption, ${leased()} after it`);
  if (before !== '') note(run, 'frozen');
}

const TOTAL = acts.reduce((sum, [weight]) => sum + weight, 0);

async function actOn(run: ModelRun, trainers: readonly ModelTrainer[]): Promise<void> {
  let dice = run.random() * TOTAL;
  const [, act, needsClaim] = acts.find(([weight]) => (dice -= weight) < 0) ?? acts[0] ?? [];
  // mostly the first trainer, sometimes a second one that should no longer be running
  const trainer = trainers[run.random() < 0.95 ? 0 : 1];
  if (act === undefined || trainer === undefined) return;
  if (needsClaim === true && trainer.epoch === 0) await claims(run, trainer);
  else await act(run, trainer);
  run.world.nowMs += Math.floor(run.random() * 20);
  await listen(run.world);
}

const openOf = ({ world }: ModelRun): Trajectory[] =>
  [...world.life.state.groups.values()].flatMap((group) => [...group.trajectories.values()].filter(({ winner }) => winner === undefined));

/** A worker finishes some requested trajectories, mostly with the newest versions. */
async function works(run: ModelRun): Promise<void> {
  for (let left = 1 + Math.floor(run.random() * 3); left > 0; left -= 1) {
    const one = pick(run, openOf(run));
    if (one === undefined) return;
    const { version } = run.world.life.state;
    const behind = run.random() < 0.15 ? 3 : 1;
    const versions = Array.from({ length: 1 + Math.floor(run.random() * 2) }, () => version - Math.floor(run.random() * (behind + 1)));
    await roll(run.world, { id: one.id, attempt: one.request.attempt }, { versions, reward: run.random() });
  }
}

async function plans(run: ModelRun, expiries: readonly Expiry[]): Promise<void> {
  await byItself(run.world, async () => {
    const { state, committer } = run.world.life;
    const training = outGroups(state);
    const inputs = { settings: modelSettings, training, expiries, version: state.version, admitting: true };
    const plan = planNow(state, inputs);
    for (const { reason } of plan.selection.discards) note(run, reason);
    if (plan.any) await committer.carryOut(plan);
    const steps = state.version - state.rewinds.length;
    const bound = (modelSettings.maxStaleness + steps + 1) * modelSettings.batchGroups;
    const asked = state.counters.trainedGroups + state.groups.size;
    const running = [...state.groups.keys()].filter((id) => !state.decided.has(id)).length;
    if (asked > bound || running > modelSettings.maxConcurrent) run.violations.push(`${asked} groups of ${bound}, ${running} running`);
  });
}

/** An attempt goes silent and is given up. */
async function gives(run: ModelRun): Promise<void> {
  const one = pick(
    run,
    openOf(run).filter(({ exhausted }) => !exhausted),
  );
  if (one !== undefined) await plans(run, [{ trajectory: one, attempt: one.request.attempt, reason: 'silent' }]);
}

/** A trainer restarts with an older checkpoint. */
function isOlder(_run: ModelRun, trainer: ModelTrainer): void {
  dies(trainer);
  trainer.checkpoints = trainer.checkpoints.slice(0, Math.max(1, trainer.checkpoints.length - 3));
}

/** The next transaction fails, before it is applied or after. It may be that of the next coordinator. */
function faults({ world, random }: ModelRun): void {
  world.log.failNext(random() < 0.5 ? 'commit' : 'commit_answer');
}

/** Follows the chain of versions from the newest back to the first, and counts what was trained along it. */
async function checkChain(run: ModelRun): Promise<void> {
  const made = new Map<number, { readonly parent: number; readonly ids: readonly string[] }>();
  const all: string[] = [];
  for (const { entry } of await ledgerOf(run.world)) {
    if (entry.type === 'RunRewound') made.set(entry.event.version, { parent: entry.event.to_version, ids: [] });
    if (entry.type !== 'StepCompleted') continue;
    const ids = entry.event.trajectories.map(({ trajectory_id: id }) => id);
    made.set(entry.event.version_after, { parent: entry.event.version_before, ids });
    all.push(...ids);
    if (!run.commits.has(entry.event.batch_id)) note(run, 'committed, answer lost');
  }
  const along: string[] = [];
  let version = run.world.life.state.version;
  for (let at = made.get(version); at !== undefined; at = made.get(version)) {
    along.push(...at.ids);
    version = at.parent;
  }
  expect(version, 'the chain ends at the first version').toBe(0);
  expect(new Set(all).size, 'a trajectory was trained twice').toBe(all.length);
  expect(along.length, 'along the chain').toBe(run.world.life.state.counters.trainedTrajectories);
}

async function checkState({ world, violations }: ModelRun): Promise<void> {
  const { state } = world.life;
  expect(violations).toEqual([]);
  expect(state.leases.out.length).toBeLessThanOrEqual(PREFETCH + 1);
  expect(state.leases.out.map(({ step }) => step)).toEqual(state.leases.out.map((_, i) => state.version + 1 + i));
  expect(summaryOf(await refolded(world))).toEqual(summaryOf(state));
}

describe('external trainers, under random histories', () => {
  const seen = new Map<string, number>();
  it.each(SEEDS)('train once along the chain of versions, seed %i', { timeout: 300_000 }, async (seed) => {
    const run: ModelRun = {
      ...{ world: await newModelWorld(), random: seeded(seed), violations: [], seen: new Map(), commits: new Map() },
    };
    const trainers = [newTrainer('one'), newTrainer('two')];
    await plans(run, []);
    for (let i = 1; i <= ACTIONS; i += 1) {
      await actOn(run, trainers);
      if (i % 50 === 0) await checkState(run);
      if (i % 500 === 0) expect(await verifyLedger(run.world)).toMatchObject({ problems: [] });
    }
    await checkState(run);
    await checkChain(run);
    const report = await verifyLedger(run.world);
    expect(await differingSteps(run.world)).toEqual([]);
    const { state } = run.world.life;
    expect(report).toMatchObject({ problems: [], version: state.version, trained: state.counters.trainedTrajectories });
    for (const [what, count] of run.seen) seen.set(what, (seen.get(what) ?? 0) + count);
  });

  it('cover every kind of event', () => {
    const happened = ['leased', 'committed', 'replayed', 'prepared, still out', 'prepared, answer lost', 'commit unknown', 'went back'];
    const refusals = ['FENCED', 'LINEAGE_MISMATCH', 'BATCH_RELEASED', 'BATCH_COMMITTED', 'BATCH_OUT_OF_ORDER', 'WEIGHTS_CONFLICT'];
    const weights = ['late weights', 'weights moved', 'restore elsewhere', 'restore unpublished'];
    const ends = ['released', 'extended', 'stale', 'rewound', 'REWIND_REFUSED', 'frozen'];
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...happened, ...refusals, ...weights, ...ends]));
  });
});
