// A run of the recovery model: a trainer over the in-memory log, and its restart.
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { settings as rigSettings } from '../../infra/testing/trainer-rig.ts';
import type { EventReader } from '../../streams/core/ports.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { foldRollout, noteRead } from '../../streams/run/fold.ts';
import { rolloutView, type RolloutEvent } from '../../streams/trajectory/rollout-view.ts';
import { resumeOf } from '../../streams/run/resume.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { sha256Of } from './checkpoints.ts';
import { createCommitter, type Committer } from './committer.ts';
import { committedMarks } from './cut-log.ts';
import { planNow, type PlanInputs } from '../../streams/trainer/plan.ts';
import { recoverRun } from './recover.ts';
import { restoreRequests } from './restore-requests.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';

export const runId = 'run-a';

export const settings: RunSettings = {
  ...rigSettings,
  seed: 1,
  groupSize: 2,
  maxStaleness: 1,
  steps: 0,
  maxWallMs: 1_000,
  silenceMs: 1_000,
};

const question = { question_id: 'q-0', question: 'Which?', answers: ['a'], aug_answers: [] };

export interface RecoveryWorld {
  readonly log: MemoryLog;
  readonly events: EventReader;
  readonly state: RunState;
  readonly committer: Committer;
  readonly closedIds: string[];
  /** Attempts that had ended when their group closed. */
  readonly ended: string[];
  readonly violations: string[];
}

export const policyOf = (version: number) => {
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

export const questions = { count: 1, at: () => question, find: () => question };

export async function committerOf(log: MemoryLog, state: RunState): Promise<Committer> {
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

const heartbeatOfOther = {
  event_id: 'w/heartbeat/0',
  run_id: 'run-b',
  occurred_at: 1,
  producer: 'worker/w',
  worker_id: 'w',
  policy_version: 0,
  capacity: 1,
  running: [],
  addressee: '',
};

export async function newWorld(rewardNames: string): Promise<RecoveryWorld> {
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

/** The state of a restarted trainer that has read the whole log. */
export async function restart(
  world: Pick<RecoveryWorld, 'log' | 'events'>,
  snapshot?: Buffer,
): Promise<{ state: RunState; skipped: number }> {
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

export async function foldRollouts(world: Pick<RecoveryWorld, 'log' | 'events'>, state: RunState): Promise<void> {
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

export function planOf(state: RunState, given: Partial<PlanInputs> = {}) {
  return planNow(state, { settings, training: [], expiries: [], version: state.version, admitting: true, ...given });
}
