// A run over the in-memory log: real codec, fold, and commits, with a scripted worker that answers tasks and a learner that makes versions
// without tensors.
import { createHash } from 'node:crypto';
import type { TrainerDeps } from '../../consumers/trainer/deps.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';
import { createCodec, type DecodedEvent } from '../../schemas/codec.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { PolicyPublished, TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { Learner } from '../../streams/core/learning.ts';
import type { EventReader } from '../../streams/core/ports.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { isLedgerType, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier } from '../../streams/run/verify-ledger.ts';
import { rolloutView } from '../../streams/trajectory/rollout-view.ts';
import { systemClock } from '../lifecycle/clock.ts';
import { codecReader } from './codec-reader.ts';
import { followTasks } from './follow-events.ts';
import { silentLogger } from './logger.ts';
import { MemoryLog } from './memory-log.ts';
import { finished, started, turn } from './rollout-events.ts';

export const settings: RunSettings = {
  seed: 3,
  algorithm: 'grpo',
  dataset: 'factbook',
  groupSize: 4,
  batchGroups: 2,
  maxStaleness: 2,
  maxConcurrent: 4,
  maxAttempts: 2,
  stalePolicy: 'discard',
  steps: 5,
  reward: 'f1',
  maxTurns: 8,
  maxTokens: 1_000,
  maxWallMs: 60_000,
  silenceMs: 400,
  maxDiscarded: 1,
};
const metrics = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };

/** Weights are a hash of the previous weights and the batch, so that a wrong checkpoint or batch shows in every later version. */
function hashLearner(): Learner {
  let weights: Buffer = Buffer.alloc(0);
  return {
    backend: 'cpu',
    initial: async (seed) => ({ weights: Buffer.from(`seed ${seed}`), optimizer: Buffer.alloc(0) }),
    restore: async (checkpoint) => {
      weights = checkpoint.weights;
    },
    train: async (batch) => {
      const hash = createHash('sha256').update(weights).update(JSON.stringify(batch));
      weights = hash.digest();
      return { weights, optimizer: Buffer.from([batch.step]), metrics, trainMs: 1 };
    },
    close: async () => undefined,
  };
}

export interface Rig {
  readonly log: MemoryLog;
  readonly events: EventReader;
  readonly statuses: RoleStatus[];
  /** Number of records that the scripted worker has written. */
  written: number;
  deps(overrides?: Partial<TrainerDeps>): TrainerDeps;
  all(topic: 'training' | 'tasks' | 'rollouts' | 'policies'): Promise<readonly (DecodedEvent & { offset: number; body: Buffer })[]>;
}

const rollouts = codecReader(createCodec({ view: rolloutView }));

export function newRig(): Rig {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  const events = codecReader(log.codec);
  const statuses: RoleStatus[] = [];
  return {
    log,
    events,
    statuses,
    written: 0,
    deps: (overrides = {}) => ({
      runId: 'run-a',
      producer: 'trainer/t-0',
      settings,
      architecture: { format: 'mlp-f32-v1', inputs: 2, hidden: [4] },
      log: log.reader(),
      events,
      rollouts,
      codec: log.codec,
      openWriter: () => log.transactional('trainer.run-a'),
      offsets: log.offsets,
      groups: { trainer: 'trainer.run-a', workers: 'workers.run-a' },
      learner: hashLearner(),
      weights: { put: async (sha256) => `memory:${sha256}`, get: async () => Buffer.alloc(0) },
      questions: async () => ({
        count: 10,
        find: (id) => ({ question_id: id, question: 'Which?', answers: ['a'], aug_answers: [] }),
        at: (index) => ({ question_id: `q-${index % 10}`, question: 'Which?', answers: ['a'], aug_answers: [] }),
      }),
      clock: systemClock,
      logger: silentLogger,
      metrics: noMetrics,
      report: (status) => void statuses.push(status),
      ...overrides,
    }),
    async all(topic) {
      const found: (DecodedEvent & { offset: number; body: Buffer })[] = [];
      await log.reader().readToEnd(topic, {
        onBatch: async (batch) => {
          for (const record of batch.records) {
            const read = events.read(record);
            if (read.ok) found.push({ ...read.value, offset: record.offset, body: bodyOf(record.value ?? Buffer.alloc(5)) });
          }
        },
      });
      return found;
    },
  };
}

/** Answers every task at once; `skip` selects requests that the worker takes but never answers. */
export async function scriptedWorker(
  rig: Rig,
  skip: (request: TrajectoryRequested) => 'answer' | 'claim' | 'start' = () => 'answer',
  rewardOf: (request: TrajectoryRequested) => number = ({ sample }) => sample % 2,
): Promise<void> {
  await followTasks(rig.log, (request) => answer(rig, request, { how: skip(request), reward: rewardOf(request) }));
}

async function answer(
  rig: Rig,
  request: TrajectoryRequested,
  { how, reward }: { how: 'answer' | 'claim' | 'start'; reward: number },
): Promise<void> {
  if (how === 'claim') return;
  const place = (sequence: number) => ({ trajectory: request.trajectory_id, attempt: request.attempt, sequence });
  const key = request.group_id;
  const records = [
    // a separate worker, because a silent one must not report other attempts either
    { type: 'TrajectoryStarted' as const, key, event: { ...started(place(0)), worker_id: how === 'start' ? 'w-silent' : 'w-0' } },
    { type: 'TurnRecorded' as const, key, event: turn(place(1), request.admitted_version) },
    { type: 'TrajectoryFinished' as const, key, event: finished(place(2), reward) },
  ];
  const told = how === 'start' ? records.slice(0, 1) : records;
  rig.written += told.length;
  await rig.log.writer().append(told);
}

const hashOf = ({ weights }: PolicyPublished): string => createHash('sha256').update(weights).digest('hex');

/** `of` returns the hash of the weights of a version. */
export async function verified(rig: Rig, of: (policy: PolicyPublished) => string = hashOf) {
  const verifier = createLedgerVerifier();
  for (const read of await rig.all('training'))
    if (isLedgerType(read.type)) verifier.entry(read as unknown as LedgerEntry, read.body, read.offset);
  for (const read of await rig.all('policies')) {
    if (read.type === 'PolicyPublished') verifier.policy(read.event, of(read.event));
  }
  return verifier.report();
}
