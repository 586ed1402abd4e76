// A bound on staleness that holds only until the first restart: AReaL issue #1388. There, the count of accepted rollouts was kept in the
// process. After a recovery at version v it began at zero, so admission accepted v batches more than the bound allows, and staleness rose
// far above its limit.
//
// The scenario: rollouts are fast and training is slow, so admitted groups wait in the queue and become stale there. It runs with the real
// fold, admission, and commits, and with a restart at any step: once as implemented, and once with a count that restarts at zero. The
// latter must break the bound; otherwise this test would prove nothing.
import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, started, turn } from '../../infra/testing/rollout-events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { capacityOf } from '../../streams/admission/admission.ts';
import { foldRollout } from '../../streams/run/fold.ts';
import { resumeOf } from '../../streams/run/resume.ts';
import type { RolloutEvent } from '../../streams/trajectory/rollout-view.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { prepareBatch } from './batches.ts';
import { TOLD_NOTHING } from './commit-parts.ts';
import { createCommitter, type Committer } from './committer.ts';
import { planNow, type TrainingPlan } from '../../streams/trainer/plan.ts';
import { recoverRun } from './recover.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';

const runId = 'run-a';
const MAX_STALENESS = 2;
const STEPS = 9;
const settings: RunSettings = {
  ...{ seed: 1, algorithm: 'grpo', dataset: 'factbook', reward: 'f1', stalePolicy: 'train', steps: 0 },
  ...{ groupSize: 2, batchGroups: 2, maxStaleness: MAX_STALENESS, maxConcurrent: 1_000, maxAttempts: 1 },
  ...{ maxTurns: 8, maxTokens: 1_000, maxWallMs: 1_000, silenceMs: 1_000, maxDiscarded: 1 },
};
const update = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };
const bytes = { weights: Buffer.alloc(0), optimizer: Buffer.alloc(0) };
const policyOf = (version: number) => ({
  ...{ version, parent: version - 1, sha256: `sha ${version}`, format: 'mlp-f32-v1', uri: '', architecture: '{}', backend: 'cpu' },
  ...{ ...bytes, optimizer_sha256: '', bytes: 0, manifest: [], loadable: true },
});

/** How many groups a process admits for a plan, by its count of accepted groups. */
type Accounting = (plan: TrainingPlan) => number;
const folded = (): Accounting => (plan) => plan.admit;

/** As in the issue: what was accepted before this process began is not counted. */
function restartedAtZero(): Accounting {
  let before: number | undefined;
  return ({ terms }) => {
    before ??= terms.accepted;
    return capacityOf({ ...terms, accepted: terms.accepted - before });
  };
}

/** A process of the trainer: its state and what it decides with. */
interface SimulatedTrainer {
  readonly state: RunState;
  readonly committer: Committer;
  readonly accounting: Accounting;
}

class StalenessWorld {
  readonly log = new MemoryLog({ partitions: { tasks: 1, rollouts: 1 } });
  readonly #events = codecReader(this.log.codec);
  /** Worst staleness of each step. */
  readonly worst: number[] = [];
  /** Groups admitted beyond what the bound allows at that version. */
  excess = 0;

  async begin(accounting: Accounting): Promise<SimulatedTrainer> {
    const life = await this.#lifeOf(newRunState(runId), accounting);
    const learner = { algorithm: 'grpo', backend: 'cpu', learner: '{}', seed: 1, steps: 0, dataset: 'factbook', weights_sha256: 'sha 0' };
    const limits = {
      group_size: 2,
      batch_groups: 2,
      max_staleness: MAX_STALENESS,
      max_concurrent: 1_000,
      max_attempts: 1,
      stale_policy: 'train',
    };
    await life.committer.begin({ ...learner, ...limits, resume: resumeOf(life.state), settings: '' }, policyOf(0));
    return life;
  }

  /** A new process knows only what it reads from the log. */
  async recover(accounting: Accounting): Promise<SimulatedTrainer> {
    const life = await this.#lifeOf((await recoverRun({ runId, log: this.log.reader(), events: this.#events })).state, accounting);
    await this.#foldRollouts(life.state);
    return life;
  }

  /** Admits, lets everything that runs finish at once, and trains one batch. */
  async round({ state, committer, accounting }: SimulatedTrainer): Promise<void> {
    const plan = planNow(state, { settings, training: [], expiries: [], version: state.version, admitting: true });
    const admit = accounting(plan);
    const { running, accepted } = plan.terms;
    const bound = (MAX_STALENESS + state.version + 1) * settings.batchGroups;
    this.excess = Math.max(this.excess, admit > 0 ? accepted + running + admit - bound : 0);
    await committer.carryOut({ ...plan, admit });
    await this.#finishAll(state);
    await this.#step(state, committer);
  }

  async #lifeOf(state: RunState, accounting: Accounting): Promise<SimulatedTrainer> {
    const author = { runId, producer: 'trainer', codec: this.log.codec, now: () => 1_000 };
    const questions = {
      count: 1,
      find: () => undefined,
      at: () => ({ question_id: 'q-0', question: 'Which?', answers: ['a'], aug_answers: [] }),
    };
    const writer = await this.log.transactional('t');
    const deps = {
      author,
      state,
      settings,
      questions,
      writer,
      offsetsGroup: 'trainer',
      start: { training: 0, policies: 0 },
      metrics: noMetrics,
      nowMs: () => 1,
      workerNow: () => 1,
      claim: 'trainer',
    };
    return { state, committer: createCommitter(deps), accounting };
  }

  async #finishAll(state: RunState): Promise<void> {
    const open = [...state.groups.values()].filter(({ id }) => !state.decided.has(id));
    const events = open.flatMap((group) => [...group.trajectories.keys()].flatMap((id, sample) => attemptOf(id, sample, state.version)));
    await this.log.writer().append(events);
    await this.#foldRollouts(state);
  }

  async #foldRollouts(state: RunState): Promise<void> {
    await this.log.reader().readToEnd('rollouts', {
      from: state.rolloutPositions,
      onBatch: async ({ records }) => {
        for (const record of records) {
          const read = this.#events.read(record);
          if (read.ok) foldRollout(state, read.value as RolloutEvent, record);
        }
      },
    });
  }

  async #step(state: RunState, committer: Committer): Promise<void> {
    const { selection } = planNow(state, { settings, training: [], expiries: [], version: state.version, admitting: false });
    const batch = prepareBatch(selection.batch, state.version, { nowMs: 1, waitedSinceMs: 0 });
    const policy = policyOf(state.version + 1);
    this.worst.push(Math.max(...batch.trajectories.map(({ staleness }) => staleness.worst)));
    const plan = planNow(state, { settings, training: selection.batch, expiries: [], version: state.version + 1, admitting: false });
    const hashes = { weightsSha256: policy.sha256, optimizerSha256: '' };
    const trained = { batch, update: { metrics: update, trainMs: 1 }, ...hashes, policy, told: TOLD_NOTHING };
    await committer.step(trained, plan);
  }
}

/** One trajectory from its beginning to its end at one version; rewards differ within a group. */
function attemptOf(trajectory: string, sample: number, version: number): readonly OutgoingEvent[] {
  const key = trajectory.slice(0, trajectory.lastIndexOf('.'));
  return [
    { type: 'TrajectoryStarted', key, event: started({ trajectory, sequence: 0 }) },
    { type: 'TurnRecorded', key, event: turn({ trajectory, sequence: 1 }, version) },
    { type: 'TrajectoryFinished', key, event: finished({ trajectory, sequence: 2 }, sample, { completion_tokens: 10 }) },
  ];
}

/** Plays the scenario with a restart after each of these steps. */
async function play(restarts: ReadonlySet<number>, accountingOf: () => Accounting): Promise<StalenessWorld> {
  const world = new StalenessWorld();
  let life = await world.begin(folded());
  for (let step = 1; step <= STEPS; step += 1) {
    await world.round(life);
    if (restarts.has(step)) life = await world.recover(accountingOf());
  }
  return world;
}

const everyStep = Array.from({ length: STEPS }, (_, index) => index + 1);

describe('the bound on staleness', () => {
  it('is reached and kept without a restart', async () => {
    const { worst, excess } = await play(new Set(), folded);
    expect(Math.max(...worst)).toBe(MAX_STALENESS);
    expect(excess).toBe(0);
  });

  it.each(everyStep)('is kept after a restart at step %i, and after one at every step up to it', async (step) => {
    for (const restarts of [new Set([step]), new Set(everyStep.slice(0, step))]) {
      const { worst, excess } = await play(restarts, folded);
      expect(Math.max(...worst)).toBe(MAX_STALENESS);
      expect(excess).toBe(0);
    }
  });

  it.each(everyStep.slice(0, -MAX_STALENESS - 3))('is broken by a count that begins at zero after a restart at step %i', async (step) => {
    const { worst, excess } = await play(new Set([step]), restartedAtZero);
    expect(excess).toBeGreaterThanOrEqual(step * settings.batchGroups);
    expect(Math.max(...worst)).toBeGreaterThan(MAX_STALENESS);
  });

  it('is exceeded further with every such restart', async () => {
    const { worst } = await play(new Set([2, 4, 6]), restartedAtZero);
    expect(worst.at(-1)).toBeGreaterThan(2 * MAX_STALENESS);
  });
});
