// The parts that write a good log: the real trainer in memory, and scripted workers that lose attempts, finish late, leave gaps and give
// the same answer to everything.
import { createHash } from 'node:crypto';
import type { TrainerDeps } from '../../../consumers/trainer/deps.ts';
import { createCodec } from '../../../schemas/codec.ts';
import type { TrajectoryRequested } from '../../../schemas/generated/events.ts';
import type { Learner } from '../../../streams/core/learning.ts';
import type { Following, OutgoingEvent } from '../../../streams/core/ports.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import { rolloutView } from '../../../streams/trajectory/rollout-view.ts';
import { codecReader } from '../../testing/codec-reader.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { silentLogger } from '../../testing/logger.ts';
import { finished, started, turn } from '../../testing/rollout-events.ts';
import { systemClock } from '../../lifecycle/clock.ts';

export const RUN = 'run-a';

export const STEPS = 12;

export const settings = {
  ...{ seed: 3, algorithm: 'grpo', dataset: 'factbook', groupSize: 4, batchGroups: 2, maxStaleness: 2, maxConcurrent: 6 },
  ...{
    maxAttempts: 2,
    stalePolicy: 'discard',
    steps: STEPS,
    reward: 'f1',
    maxTurns: 8,
    maxTokens: 1_000,
    maxWallMs: 60_000,
    silenceMs: 400,
    maxDiscarded: 1,
  },
};

const metrics = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };

function hashLearner(): Learner {
  let weights: Buffer = Buffer.alloc(0);
  return {
    backend: 'cpu',
    initial: async (seed) => ({ weights: Buffer.from(`seed ${seed}`), optimizer: Buffer.alloc(0) }),
    restore: async (checkpoint) => {
      weights = checkpoint.weights;
    },
    train: async (batch) => {
      weights = createHash('sha256').update(weights).update(JSON.stringify(batch)).digest();
      return { weights, optimizer: Buffer.from([batch.step]), metrics, trainMs: 1 };
    },
    close: async () => undefined,
  };
}

export function depsOf(log: MemoryLog): TrainerDeps {
  return {
    runId: RUN,
    producer: 'trainer/t-0',
    settings,
    architecture: { format: 'mlp-f32-v1', inputs: 2, hidden: [4] },
    log: log.reader(),
    events: codecReader(log.codec),
    rollouts: codecReader(createCodec({ view: rolloutView })),
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
    report: () => undefined,
  };
}

/** How a request is answered: in full, never, only started, with a gap, or twice. */
function manner({ group_index: index, sample, attempt }: TrajectoryRequested): 'whole' | 'silent' | 'begun' | 'hole' | 'twice' {
  const first = { '3.2': 'silent', '4.3': 'hole' } as const;
  const always = { '2.1': 'begun', '5.0': 'twice' } as const;
  const key = `${index % 7}.${sample}`;
  if (attempt === 0 && key in first) return first[key as keyof typeof first];
  return key in always ? always[key as keyof typeof always] : 'whole';
}

function answersTo(request: TrajectoryRequested, behind: number): readonly OutgoingEvent[] {
  const how = manner(request);
  const place = (sequence: number) => ({ trajectory: request.trajectory_id, attempt: request.attempt, sequence });
  const key = request.group_id;
  const reward = request.group_index % 5 === 1 ? 0.5 : request.sample % 2;
  const versions = [Math.max(0, request.admitted_version - behind), request.admitted_version];
  // a separate worker, which falls silent when it writes nothing more
  const own = { question_id: request.question_id, worker_id: `w-${request.trajectory_id}` };
  const records: OutgoingEvent[] = [
    { type: 'TrajectoryStarted', key, event: started(place(0), own) },
    ...versions.map((version, i) => ({ type: 'TurnRecorded', key, event: turn(place(i + 1), version, own) }) as const),
    { type: 'TrajectoryFinished', key, event: finished(place(3), reward, { ...own, turns: 2, completion_tokens: 20 }) },
  ];
  if (how === 'silent') return [];
  if (how === 'begun') return records.slice(0, 2);
  if (how === 'hole') return records.filter((_, i) => i !== 1);
  return how === 'twice' ? [...records, ...records] : records;
}

/** A log, and a worker that answers its requests. The first turn of each attempt is `behind` versions older than the request. */
export async function newScriptedLog(behind = 1): Promise<{ readonly log: MemoryLog; readonly worker: Following }> {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  const events = codecReader(log.codec);
  const worker = await log.reader().follow({
    ...{ topics: ['tasks'], from: [], otherwise: 'first', onError: () => undefined },
    onBatch: async ({ records }) => {
      for (const record of records) {
        const read = events.read(record);
        if (!read.ok || read.value.type !== 'TrajectoryRequested') continue;
        log.setOffsets('workers.run-a', [{ topic: 'tasks', partition: record.partition, offset: record.offset + 1 }]);
        const answers = answersTo(read.value.event, behind);
        if (answers.length > 0) await log.writer().append(answers);
      }
    },
  });
  return { log, worker };
}
