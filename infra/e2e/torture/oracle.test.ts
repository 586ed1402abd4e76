// The oracle finds no problem in a good log, and detects every kind of corruption. The real trainer makes the log in memory, with scripted
// workers that lose attempts, finish late, leave gaps and give the same answer to everything.
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { runTrainer } from '../../../consumers/trainer/trainer.ts';
import type { TrainerDeps } from '../../../consumers/trainer/deps.ts';
import { createCodec, type DecodedEvent } from '../../../schemas/codec.ts';
import type { EventByType, TrajectoryRequested } from '../../../schemas/generated/events.ts';
import type { Learner } from '../../../streams/core/learning.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import { rolloutView } from '../../../streams/run/rollout-view.ts';
import { codecReader } from '../../testing/codec-reader.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { silentLogger } from '../../testing/logger.ts';
import { finished, started, turn } from '../../testing/rollout-events.ts';
import { readFacts, type Fact, type RolloutFact, type RunFacts } from './facts.ts';
import { judgeRun } from './oracle.ts';
import type { ProblemKind } from './problem.ts';
import { systemClock } from '../../lifecycle/clock.ts';

const RUN = 'run-a';
const STEPS = 12;
const settings = {
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

function depsOf(log: MemoryLog): TrainerDeps {
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

function answersTo(request: TrajectoryRequested): readonly OutgoingEvent[] {
  const how = manner(request);
  const place = (sequence: number) => ({ trajectory: request.trajectory_id, attempt: request.attempt, sequence });
  const key = request.group_id;
  const reward = request.group_index % 5 === 1 ? 0.5 : request.sample % 2;
  const versions = [Math.max(0, request.admitted_version - 1), request.admitted_version];
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

async function goodLog(): Promise<RunFacts> {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  const events = codecReader(log.codec);
  const worker = await log.reader().follow({
    ...{ topics: ['tasks'], from: [], otherwise: 'first', onError: () => undefined },
    onBatch: async ({ records }) => {
      for (const record of records) {
        const read = events.read(record);
        if (!read.ok || read.value.type !== 'TrajectoryRequested') continue;
        log.setOffsets('workers.run-a', [{ topic: 'tasks', partition: record.partition, offset: record.offset + 1 }]);
        const answers = answersTo(read.value.event);
        if (answers.length > 0) await log.writer().append(answers);
      }
    },
  });
  await runTrainer(depsOf(log), new AbortController().signal);
  await worker.close();
  return (await readFacts(log.reader(), log.codec, RUN)).facts;
}

let good: RunFacts;
beforeAll(async () => {
  good = await goodLog();
}, 60_000);

/** The ledger with one changed entry: the `nth` of its type. */
function withEntry<T extends DecodedEvent['type']>(type: T, change: (event: EventByType[T]) => EventByType[T], nth = 1): RunFacts {
  return { ...good, training: changed(good.training, { type, nth, change: (fact) => [edit(fact, change)] }) };
}

function edit<T extends DecodedEvent['type']>(fact: Fact, change: (event: EventByType[T]) => EventByType[T]): Fact {
  return { ...fact, read: { type: fact.read.type, event: change(fact.read.event as EventByType[T]) } as DecodedEvent };
}

interface Change {
  readonly type: DecodedEvent['type'];
  readonly nth: number;
  readonly change: (fact: Fact) => readonly Fact[];
}

function changed(facts: readonly Fact[], { type, nth, change }: Change): readonly Fact[] {
  let seen = 0;
  return facts.flatMap((fact) => {
    if (fact.read.type === type) seen += 1;
    return fact.read.type === type && seen === nth + 1 ? change(fact) : [fact];
  });
}

type StepEvent = EventByType['StepCompleted'];
type Row = StepEvent['trajectories'][number];

const withRow = (change: (row: Row) => Row): RunFacts =>
  withEntry('StepCompleted', (event) => ({ ...event, trajectories: event.trajectories.map((row, i) => (i === 1 ? change(row) : row)) }), 5);
const withStep = (change: (event: StepEvent) => StepEvent): RunFacts => withEntry('StepCompleted', change, 5);
const withoutEntry = (type: DecodedEvent['type'], nth = 1): RunFacts => ({
  ...good,
  training: changed(good.training, { type, nth, change: () => [] }),
});

/** Records of the attempt that a step trained on. */
const trainedRow = (): Row => good.training.flatMap(({ read }) => (read.type === 'StepCompleted' ? read.event.trajectories : []))[9]!;
const withRecords = (change: (fact: RolloutFact) => readonly RolloutFact[]): RunFacts => {
  const { trajectory_id: id, attempt } = trainedRow();
  return {
    ...good,
    rollouts: good.rollouts.flatMap((fact) => (fact.trajectory === id && fact.attempt === attempt ? change(fact) : [fact])),
  };
};
const withTurn = (change: (part: Extract<RolloutFact['part'], { kind: 'turn' }>) => RolloutFact['part']): RunFacts =>
  withRecords((fact) => [fact.part.kind === 'turn' ? { ...fact, part: change(fact.part) } : fact]);
const withTask = (change: (fact: Fact) => readonly Fact[]): RunFacts => ({
  ...good,
  tasks: good.tasks.flatMap((fact, i) => (i === 8 ? change(fact) : [fact])),
});
const withPolicy = (change: (event: EventByType['PolicyPublished']) => EventByType['PolicyPublished']): RunFacts => ({
  ...good,
  policies: good.policies.map((fact, i) => (i === 4 ? edit<'PolicyPublished'>(fact, change) : fact)),
});

/** A step that trains again on a trajectory of the previous step. */
function trainedTwice(): RunFacts {
  const earlier = good.training.flatMap(({ read }) => (read.type === 'StepCompleted' ? [read.event] : []))[4]!.trajectories[0]!;
  return withStep((event) => ({ ...event, trajectories: [...event.trajectories, earlier] }));
}

const addDiscard = (fields: Partial<EventByType['TrajectoryDiscarded']>): RunFacts => {
  const template = good.training.find(({ read }) => read.type === 'TrajectoryDiscarded')!;
  const last = good.training.at(-1)!;
  const added = edit<'TrajectoryDiscarded'>(template, (event) => ({ ...event, ...fields, sequence: good.training.length }));
  return { ...good, training: [...good.training, { ...added, offset: last.offset + 2 }] };
};

/** The first completely trained group, removed from its step. */
function forgotten(): RunFacts {
  const rows = good.training.flatMap(({ read }) => (read.type === 'StepCompleted' ? read.event.trajectories : []));
  const group = rows.find(({ group_id: id }) => rows.filter((row) => row.group_id === id).length === settings.groupSize)?.group_id;
  return {
    ...good,
    training: good.training.map((fact) =>
      fact.read.type === 'StepCompleted'
        ? edit<'StepCompleted'>(fact, (event) => ({ ...event, trajectories: event.trajectories.filter((row) => row.group_id !== group) }))
        : fact,
    ),
  };
}

/** An open group whose requests are gone, and which no worker has started. */
function vanished(): RunFacts {
  const closed = new Set(
    good.training.flatMap(({ read }) => {
      if (read.type === 'StepCompleted') return read.event.trajectories.map((row) => row.group_id);
      return read.type === 'TrajectoryDiscarded' ? [read.event.group_id] : [];
    }),
  );
  const admitted = good.training.flatMap(({ read }) => (read.type === 'GroupsAdmitted' ? read.event.groups : []));
  const open = admitted.find(({ group_id: id }) => !closed.has(id))?.group_id;
  const isOf = ({ read }: Fact): boolean => read.type === 'TrajectoryRequested' && read.event.group_id === open;
  const tasks = good.tasks.filter(isOf);
  const gone = { how: 'deleted', topic: 'tasks', ledgerEnd: 0, ranges: [], tasks, rollouts: [] } as const;
  return {
    ...good,
    tasks: good.tasks.filter((fact) => !isOf(fact)),
    rollouts: good.rollouts.filter(({ group }) => group !== open),
    gone: [gone],
  };
}

/** The log has lost the records of a step after the step was made. */
function cutAway(): RunFacts {
  const { trajectory_id: id } = trainedRow();
  const lost = good.rollouts.filter((fact) => fact.trajectory === id).slice(-2);
  const [first] = lost;
  const ranges = [{ partition: first!.partition, from: first!.offset, to: first!.offset + 1 }];
  const gone = { how: 'cut', topic: 'rollouts', ledgerEnd: Infinity, ranges, tasks: [], rollouts: lost } as const;
  return { ...good, rollouts: good.rollouts.filter((fact) => !lost.includes(fact)), gone: [gone] };
}

describe('the oracle', () => {
  it('counts groups by what became of them, and those of which nothing is left apart', () => {
    const { groups } = judgeRun(good);
    expect(groups).toMatchObject({ lost: 0 });
    expect(groups.trained + groups.discarded + groups.open).toBe(groups.admitted);
    expect(judgeRun(vanished()).groups).toEqual({ ...groups, open: groups.open - 1, lost: 1 });
  });

  it('knows what the log has lost since', () => {
    expect(judgeRun(cutAway()).problems).toEqual([]);
    expect(judgeRun({ ...cutAway(), gone: [] }).found).toMatchObject({ step: expect.any(Number) as number });
  });

  it('finds nothing wrong with a log that the trainer wrote', () => {
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
      'a trajectory that nobody admitted',
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
    ['a staleness too good', 'step', () => withRow((row) => ({ ...row, staleness_total: row.staleness_total + 1 }))],
    [
      'a split of the staleness that does not add up',
      'step',
      () => withRow((row) => ({ ...row, staleness_in_flight: row.staleness_in_flight + 1 })),
    ],
    ['unknown tokens that are not told', 'step', () => withTurn((part) => ({ ...part, spans: [] }))],
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
    ['a uniform group that is none', 'discard', () => withEntry('TrajectoryDiscarded', (event) => ({ ...event, reason: 'stale' }), 0)],
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
    ['a group of which nothing is left in the log', 'lost', vanished],
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
    ['an attempt that nobody asked for', 'attempt', () => withRecords((fact) => [fact, { ...fact, attempt: 7 }])],
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
      'a resume point that counts wrongly',
      'resume',
      () => withStep((event) => ({ ...event, resume: { ...event.resume, trained_groups: 0 } })),
    ],
  ])('finds %s', (_what, kind, broken) => {
    expect(Object.keys(judgeRun(broken()).found)).toContain(kind);
  });
});
