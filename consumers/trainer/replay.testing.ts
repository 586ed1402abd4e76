// Shared by the tests of replays: makes a run over the in-memory log, and replays it or a changed copy.
import { createHash } from 'node:crypto';
import { afterEach } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { followTasks, stopFollowing } from '../../infra/testing/follow-events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { finished, started, turn } from '../../infra/testing/rollout-events.ts';
import { settings as rigSettings } from '../../infra/testing/trainer-rig.ts';
import { createCodec } from '../../schemas/codec.ts';
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { Learner, LearnerParameters } from '../../streams/core/learning.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { rolloutView } from '../../streams/trajectory/rollout-view.ts';
import type { TrainerDeps } from './deps.ts';
import type { OpenLearner } from './replay-train.ts';
import { replayRun, type ReplayDeps, type StepReplay } from './replay.ts';
import { runTrainer } from './trainer.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const metrics = { loss: 0.5, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };

export const architecture = { format: 'mlp-f32-v1', inputs: 2, hidden: [4] } as const;

export const sha = (...parts: (string | Buffer)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

/** Weights are a hash of the previous weights, the batch and the parameters; for REINFORCE, of earlier batches too. */
export function hashLearner(own: LearnerParameters, backend = 'cpu'): Learner {
  let weights: Buffer = Buffer.alloc(0);
  let memory: Buffer = Buffer.alloc(0);
  let parameters = own;
  return {
    backend,
    get parameters() {
      return parameters;
    },
    initial: async (seed) => ({ weights: sha(`seed ${seed}`), optimizer: Buffer.alloc(0) }),
    restore: async (checkpoint, recorded) => {
      [weights, memory] = [checkpoint.weights, Buffer.alloc(0)];
      parameters = recorded ?? parameters;
    },
    train: async (batch) => {
      const text = JSON.stringify(batch);
      if (parameters['algorithm'] === 'reinforce') memory = sha(memory, text);
      weights = sha(weights, memory, text, JSON.stringify(parameters), backend);
      return { weights, optimizer: sha(weights), metrics, trainMs: 1 };
    },
    close: async () => undefined,
  };
}

const viewed = codecReader(createCodec({ view: rolloutView }));

const none = { count: () => undefined, set: () => undefined, observe: () => undefined };

const weights = { put: async (sha256: string) => `memory:${sha256}`, get: async () => Buffer.alloc(0) };

export const never = new AbortController().signal;

/** Call it at the top level of a test file. */
export function setUpReplay(): void {
  afterEach(stopFollowing);
}

export async function worker(log: MemoryLog, skip: (request: TrajectoryRequested) => boolean): Promise<void> {
  await followTasks(log, (request) => log.writer().append(answerTo(request, skip(request))));
}

function answerTo(request: TrajectoryRequested, broken: boolean): readonly OutgoingEvent[] {
  const { trajectory_id: trajectory, attempt, group_id: key, sample } = request;
  const place = (sequence: number) => ({ trajectory, attempt, sequence });
  const begun: OutgoingEvent = { type: 'TrajectoryStarted', key, event: started(place(0)) };
  if (broken) return [begun];
  const reward = sample % 2 === 0 ? 0.25 : 1;
  return [
    begun,
    { type: 'TurnRecorded', key, event: turn(place(1), request.admitted_version) },
    { type: 'TrajectoryFinished', key, event: finished(place(2), reward) },
  ];
}

export const settings = { ...rigSettings, maxStaleness: 0, steps: 4 };

export function depsOf(log: MemoryLog, overrides: Partial<TrainerDeps>): TrainerDeps {
  return {
    ...{ runId: 'run-a', producer: 'trainer/t-0', settings, architecture, rollouts: viewed, codec: log.codec, weights, metrics: none },
    log: log.reader(),
    events: codecReader(log.codec),
    openWriter: () => log.transactional('trainer.run-a'),
    offsets: log.offsets,
    groups: { trainer: 'trainer.run-a', workers: 'workers.run-a' },
    learner: hashLearner({ algorithm: 'grpo', learningRate: 0.1 }),
    questions: async () => ({
      count: 10,
      find: (id) => ({ question_id: id, question: 'Which?', answers: ['a'], aug_answers: [] }),
      at: (index) => ({ question_id: `q-${index % 10}`, question: 'Which?', answers: ['a'], aug_answers: [] }),
    }),
    clock: systemClock,
    logger: silentLogger,
    report: () => undefined,
    ...overrides,
  };
}

/** A finished run; if broken, one trajectory of the third group never finishes. */
export async function madeRun(overrides: Partial<TrainerDeps> = {}, broken = false): Promise<MemoryLog> {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 }, batchRecords: 7 });
  await log.writer().append([{ type: 'TrajectoryStarted', key: 'x', event: { ...started({ trajectory: 'x.0', run: 'run-x' }) } }]);
  await worker(log, ({ group_index: index, sample }) => broken && index === 2 && sample === 2);
  await runTrainer(depsOf(log, overrides), never);
  return log;
}

const replayDeps = (log: MemoryLog, more: Partial<ReplayDeps> = {}): ReplayDeps => ({
  ...{ runId: 'run-a', log: log.reader(), events: codecReader(log.codec), rollouts: viewed, weights },
  ...more,
});

export async function replayed(
  log: MemoryLog,
  more: Partial<ReplayDeps> = {},
  range: { first?: number; last?: number; fromStart?: boolean } = {},
) {
  const steps: StepReplay[] = [];
  const total = await replayRun(
    replayDeps(log, more),
    { first: 1, last: Infinity, fromStart: false, ...range },
    (step) => void steps.push(step),
  );
  return { steps, differing: total.differing };
}

export const openWith =
  (own: LearnerParameters, backend?: string): OpenLearner =>
  async (wanted) =>
    hashLearner(own, backend ?? wanted.backend);
