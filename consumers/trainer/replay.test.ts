// Replays a complete run of the real trainer over the in-memory log, then the same log with one change.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { finished, started, turn } from '../../infra/testing/rollout-events.ts';
import { createCodec, type DecodedEvent } from '../../schemas/codec.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Learner, LearnerParameters } from '../../streams/core/learning.ts';
import type { Following, LogRecord, OutgoingEvent } from '../../streams/core/ports.ts';
import { entryHash, isLedgerType, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier } from '../../streams/ledger/verify.ts';
import { rolloutView } from '../../streams/run/rollout-view.ts';
import type { TrainerDeps } from './deps.ts';
import { learnerRecord, parameterDifferences, recordedLearner } from './learner-record.ts';
import type { OpenLearner } from './replay-train.ts';
import { replayRun, type ReplayDeps, type StepReplay } from './replay.ts';
import { runTrainer } from './trainer.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const metrics = { loss: 0.5, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };
const architecture = { format: 'mlp-f32-v1', inputs: 2, hidden: [4] } as const;
const sha = (...parts: (string | Buffer)[]): Buffer => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

/** Weights are a hash of the previous weights, the batch and the parameters; for REINFORCE, of earlier batches too. */
function hashLearner(own: LearnerParameters, backend = 'cpu'): Learner {
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
const never = new AbortController().signal;
const closing: Following[] = [];
afterEach(async () => {
  for (const following of closing.splice(0)) await following.close();
});

async function worker(log: MemoryLog, skip: (request: TrajectoryRequested) => boolean): Promise<void> {
  const events = codecReader(log.codec);
  const following = await log.reader().follow({
    topics: ['tasks'],
    from: [],
    otherwise: 'first',
    onError: () => undefined,
    onBatch: async ({ records }) => {
      for (const record of records) {
        const read = events.read(record);
        if (!read.ok || read.value.type !== 'TrajectoryRequested') continue;
        log.setOffsets('workers.run-a', [{ topic: 'tasks', partition: record.partition, offset: record.offset + 1 }]);
        await log.writer().append(answerTo(read.value.event, skip(read.value.event)));
      }
    },
  });
  closing.push(following);
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

const settings = {
  ...{ seed: 3, algorithm: 'grpo', dataset: 'factbook', groupSize: 4, batchGroups: 2, maxStaleness: 0, maxConcurrent: 4 },
  ...{
    maxAttempts: 2,
    stalePolicy: 'discard',
    steps: 4,
    reward: 'f1',
    maxTurns: 8,
    maxTokens: 1_000,
    maxWallMs: 60_000,
    silenceMs: 400,
    maxDiscarded: 1,
  },
};

function depsOf(log: MemoryLog, overrides: Partial<TrainerDeps>): TrainerDeps {
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
async function madeRun(overrides: Partial<TrainerDeps> = {}, broken = false): Promise<MemoryLog> {
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

async function replayed(
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

const openWith =
  (own: LearnerParameters, backend?: string): OpenLearner =>
  async (wanted) =>
    hashLearner(own, backend ?? wanted.backend);

/** The same log with some records changed at the same offsets; a `forged ledger` has a valid chain again. */
type Place = 'rollouts' | 'training' | 'policies' | 'forged ledger';
function changed(log: MemoryLog, place: Place, change: (value: DecodedEvent) => DecodedEvent | undefined): MemoryLog {
  const forged = place === 'forged ledger';
  const topic = forged ? 'training' : place;
  const copy = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  let previous: string | undefined;
  const made = (record: LogRecord): LogRecord => {
    const decoded = record.topic === topic ? log.codec.decode(record.value!) : undefined;
    let value = decoded?.ok === true ? (change(decoded.value) ?? (forged ? decoded.value : undefined)) : undefined;
    if (value === undefined) return record;
    if (forged)
      value = { ...value, event: { ...value.event, ...(previous === undefined ? {} : { previous_sha256: previous }) } } as DecodedEvent;
    const bytes = log.codec.encode(value.type, value.event);
    previous = entryHash(bodyOf(bytes));
    return { ...record, value: bytes };
  };
  for (const name of ['tasks', 'rollouts', 'training', 'policies'] as const) {
    for (const { partition, slots } of log.partitionsOf(name)) {
      const target = copy.partitionsOf(name)[partition]!.slots;
      for (const slot of slots) target.push(slot.visible ? { visible: true, record: made(slot.record) } : slot);
    }
  }
  return copy;
}

describe('a replay', () => {
  it('rebuilds every batch from the log alone, from the resume points and from the start', async () => {
    const log = await madeRun();
    for (const fromStart of [false, true]) {
      const { steps, differing } = await replayed(log, {}, { fromStart });
      expect(steps.map(({ step, ok, from }) => [step, ok, from])).toEqual(
        [1, 2, 3, 4].map((n) => [n, true, fromStart ? 'start' : 'resume']),
      );
      expect(differing).toBe(0);
      expect(steps.flatMap(({ differences }) => differences)).toEqual([]);
    }
    const { steps } = await replayed(log, {}, { first: 2, last: 3 });
    expect(steps.map(({ step, groups }) => [step, groups])).toEqual([
      [2, 2],
      [3, 2],
    ]);
    expect(steps[0]).toMatchObject({ tokens: 10 * steps[0]!.trajectories, update: undefined });
    expect(steps[0]!.compared).toBeGreaterThan(100);
  });

  it('knows that a trajectory nobody finished was no part of the batch, also when it is finished later', async () => {
    const log = await madeRun({}, true);
    const all = (await replayed(log)).steps;
    expect(all.map(({ trajectories }) => trajectories).sort()).toEqual([7, 8, 8, 8]);
    const late = { trajectory: 'run-a-g000002.2', attempt: 1 };
    const key = 'run-a-g000002';
    await log.writer().append([
      { type: 'TurnRecorded', key, event: turn({ ...late, sequence: 1 }, 0) },
      { type: 'TrajectoryFinished', key, event: finished({ ...late, sequence: 2 }, 1) },
    ]);
    expect((await replayed(log, {}, { fromStart: true })).differing).toBe(0);
  });

  it('repeats the updates with what the run recorded, whatever is configured here', async () => {
    const log = await madeRun();
    const { steps, differing } = await replayed(log, { openLearner: openWith({ algorithm: 'reinforce', learningRate: 9 }) });
    expect(differing).toBe(0);
    expect(steps.map(({ update }) => update)).toEqual(Array(4).fill({ backend: 'cpu', recordedBackend: 'cpu', largestDifference: 0 }));
    const one = await replayed(log, { openLearner: openWith({}) }, { first: 4 });
    expect(one.steps).toMatchObject([{ step: 4, ok: true }]);
  });

  it('repeats what REINFORCE remembers from the first step of the process on', async () => {
    const learner = hashLearner({ algorithm: 'reinforce' });
    const log = await madeRun({ learner, settings: { ...settings, algorithm: 'reinforce', steps: 4 } });
    const openLearner = openWith({});
    expect((await replayed(log, { openLearner }, { first: 3 })).steps.map(({ step, ok }) => [step, ok])).toEqual([
      [3, true],
      [4, true],
    ]);
  });

  it.each(['grpo', 'reinforce'])('goes on with the recorded parameters after a restart, and repeats both parts: %s', async (algorithm) => {
    const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
    await worker(log, () => false);
    const stop = new AbortController();
    const report: TrainerDeps['report'] = ({ figures }) => {
      if (figures['step'] === 2) stop.abort();
    };
    const used = { ...settings, algorithm };
    const begun = hashLearner({ algorithm, learningRate: 0.1 });
    expect(await runTrainer(depsOf(log, { learner: begun, report, settings: used }), stop.signal)).toMatchObject({ kind: 'stopped' });
    const other = hashLearner({ algorithm: 'grpo', learningRate: 7 });
    expect(await runTrainer(depsOf(log, { learner: other, producer: 'trainer/t-1' }), never)).toMatchObject({ kind: 'finished' });
    expect(other.parameters).toEqual({ algorithm, learningRate: 0.1 });
    const { steps } = await replayed(log, { openLearner: openWith({}) });
    expect(steps.map(({ ok }) => ok)).toEqual([true, true, true, true]);
  });

  it('tells how far apart weights come out on another backend', async () => {
    const log = await madeRun();
    const { steps, differing } = await replayed(log, { openLearner: openWith({}, 'wasm') }, { first: 2, last: 2 });
    expect(differing).toBe(1);
    expect(steps[0]!.update).toMatchObject({ backend: 'wasm', recordedBackend: 'cpu' });
    expect(steps[0]!.update!.largestDifference).toBeGreaterThan(0);
    expect(steps[0]!.differences.map(({ field }) => field)).toEqual(['weights_sha256', 'optimizer_sha256']);
  });

  it.each([
    ['a reward', 'TrajectoryFinished', { reward: 0.75 }, ['reward', 'advantage', 'batch_sha256', 'reward_mean']],
    ['a version', 'TurnRecorded', { policy_spans: [{ version: 1, tokens: 10 }] }, ['version_first', 'batch_sha256']],
    [
      'a decision',
      'TurnRecorded',
      { decision: { features: Buffer.alloc(16, 1), candidates: 2, width: 2, chosen: 1, logprob: -0.7, entropy: 0.7 } },
      ['batch_sha256'],
    ],
    ['a status', 'TrajectoryFinished', { status: 'cancelled' }, ['trajectory', 'groups', 'batch_sha256']],
  ] as const)('finds %s that was changed in the rollouts', async (...row) => {
    const [, type, change, fields] = row;
    const log = await madeRun();
    const victim = 'run-a-g000000.1';
    const copy = changed(log, 'rollouts', (value) =>
      value.type === type && value.event.trajectory_id === victim
        ? ({ type, event: { ...value.event, ...change } } as DecodedEvent)
        : undefined,
    );
    const { steps, differing } = await replayed(copy, { openLearner: openWith({}) });
    expect(differing).toBe(1);
    expect(steps[0]!.ok).toBe(false);
    expect(steps[0]!.update).toBeUndefined();
    const found = steps[0]!.differences.map(({ field }) => field);
    for (const field of fields.filter((one) => one !== 'groups')) expect(found).toContain(field);
  });

  it('finds a ledger entry that was changed, and weights that were', async () => {
    const log = await madeRun();
    const step = (n: number, change: object) =>
      changed(log, 'training', (value) =>
        value.type === 'StepCompleted' && value.event.step === n ? { type: value.type, event: { ...value.event, ...change } } : undefined,
      );
    await expect(replayed(step(2, { tokens: 1 }))).rejects.toMatchObject({ code: 'LEDGER_BROKEN' });
    expect((await replayed(step(2, { tokens: 1 }), {}, { first: 1, last: 1 })).differing).toBe(0);
    // no later entry names the hash of the last entry in a range, so its content must reveal the change
    const { steps } = await replayed(step(2, { tokens: 1, weights_sha256: 'x' }), {}, { first: 2, last: 2 });
    expect(steps[0]!.differences).toEqual([{ field: 'tokens', trajectory: '', recorded: '1', rebuilt: String(steps[0]!.tokens) }]);
    const forged = changed(log, 'policies', (value) =>
      value.type === 'PolicyPublished' && value.event.version === 1
        ? { type: value.type, event: { ...value.event, weights: Buffer.alloc(8) } }
        : undefined,
    );
    await expect(replayed(forged, { openLearner: openWith({}) })).rejects.toMatchObject({ code: 'WEIGHTS_MISMATCH' });
  });

  it('finds a resume point that is too late, in a ledger that is whole', async () => {
    const log = await madeRun();
    const late = changed(log, 'forged ledger', ({ type, event }) => {
      if (type !== 'StepCompleted' || event.step !== 3) return undefined;
      const rollouts = event.resume.rollouts.map((one) => ({ ...one, offset: 10_000 }));
      return { type, event: { ...event, resume: { ...event.resume, rollouts } } };
    });
    const { steps, differing } = await replayed(late, {}, { first: 4 });
    expect(differing).toBe(1);
    expect(steps[0]).toMatchObject({ from: 'start', trajectories: 8 });
    expect(new Set(steps[0]!.differences.map(({ field }) => field))).toEqual(new Set(['resume']));
  });

  it('finds a trajectory that the ledger forgot', async () => {
    const log = await madeRun({}, true);
    const forgetful = changed(log, 'forged ledger', ({ type, event }) =>
      type === 'TrajectoryDiscarded' && event.trajectory_id === 'run-a-g000002.2'
        ? { type, event: { ...event, trajectory_id: 'run-a-g000002.9' } }
        : undefined,
    );
    const { steps, differing } = await replayed(forgetful);
    expect(differing).toBe(1);
    expect(steps.flatMap(({ differences }) => differences)).toMatchObject([{ field: 'trajectory', trajectory: 'run-a-g000002.2' }]);
  });

  it('says when retention has taken the records', async () => {
    const log = await madeRun();
    for (const { partition } of log.partitionsOf('rollouts')) log.deleteBefore('rollouts', partition, 6);
    const { steps } = await replayed(log, {}, { first: 1, last: 1 });
    const rebuilt = expect.stringContaining('retention has deleted records: rollouts/') as string;
    expect(steps[0]!.differences[0]).toMatchObject({ field: 'trajectory', rebuilt });
  });

  it('says when there is no such run or step', async () => {
    const log = await madeRun();
    await expect(replayed(log, { runId: 'run-z' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(replayed(log, {}, { first: 9, last: 9 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(replayed(log, {}, { first: 9 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('what a run records of its learner', () => {
  it('is read back, and is nothing when it is not there', () => {
    const parameters = { algorithm: 'grpo', clip: 0.4 };
    expect(recordedLearner({ learner: learnerRecord(architecture, parameters) })).toEqual({ architecture, parameters });
    expect(recordedLearner({ learner: learnerRecord(architecture, undefined) })).toEqual({ architecture, parameters: undefined });
    for (const learner of ['', '3', '{}', '{"architecture":{"format":"other"},"hyper":1}']) {
      expect(recordedLearner({ learner })).toEqual({ architecture: undefined, parameters: undefined });
    }
    expect(parameterDifferences({ a: 1, b: 2 }, { a: 1, b: 3, c: 4 })).toEqual(['b', 'c']);
    expect(parameterDifferences({ a: 1 })).toEqual([]);
  });
});

describe('a run that was continued after its end', () => {
  /** The ledger entries, the weights that they name, and the verifier's result. */
  async function ledgerOf(log: MemoryLog) {
    const verifier = createLedgerVerifier();
    const events = codecReader(log.codec);
    const entries: LedgerEntry[] = [];
    for (const topic of ['training', 'policies'] as const) {
      await log.reader().readToEnd(topic, {
        onBatch: async ({ records }) => {
          for (const record of records) {
            const read = events.read(record);
            if (!read.ok) continue;
            if (read.value.type === 'PolicyPublished') verifier.policy(read.value.event, sha(read.value.event.weights).toString('hex'));
            if (!isLedgerType(read.value.type)) continue;
            entries.push(read.value as LedgerEntry);
            verifier.entry(read.value as LedgerEntry, bodyOf(record.value!), record.offset);
          }
        },
      });
    }
    return { entries, report: verifier.report() };
  }
  const stepsOf = (entries: readonly LedgerEntry[]) => entries.flatMap(({ type, event }) => (type === 'StepCompleted' ? [event] : []));

  /** A run that stops and continues at each of these steps; it ends at the last of them. */
  async function continued(ends: readonly number[], algorithm: string): Promise<MemoryLog> {
    const at = (steps: number): Partial<TrainerDeps> => ({
      settings: { ...settings, steps, algorithm },
      learner: hashLearner({ algorithm }),
      producer: `trainer/t-${steps}`,
    });
    const [first = 1, ...later] = ends;
    const log = await madeRun(at(first));
    for (const steps of later) await runTrainer(depsOf(log, at(steps)), never);
    return log;
  }

  it('verifies, replays from its first step to its last, and trains on what one without an end between does', async () => {
    const ends = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 2, maxLength: 4 }).map((all) => all.sort((a, b) => a - b));
    await fc.assert(
      fc.asyncProperty(ends, fc.constantFrom('grpo', 'reinforce'), async (made, algorithm) => {
        const last = made.at(-1) ?? 0;
        const log = await continued(made, algorithm);
        const { entries, report } = await ledgerOf(log);
        expect(report).toMatchObject({ ok: true, problems: [], steps: last, finished: true, continued: made.length - 1 });
        expect(report.admitted).toBe(report.trained + report.discarded + report.open);
        const said = entries.flatMap(({ type, event }) => (type === 'RunFinished' || type === 'RunContinued' ? [[type, event.steps]] : []));
        expect(said).toEqual(
          made.flatMap((steps, i) => [...(i === 0 ? [] : [['RunContinued', steps] as const]), ['RunFinished', steps] as const]),
        );
        const { steps, differing } = await replayed(log, { openLearner: openWith({}) });
        expect([steps.length, differing]).toEqual([last, 0]);
        const whole = await ledgerOf(await continued([last], algorithm));
        const trained = (all: readonly LedgerEntry[]) =>
          stepsOf(all).map(({ trajectories }) => trajectories.map(({ trajectory_id: id }) => id));
        expect(trained(entries)).toEqual(trained(whole.entries));
        // REINFORCE loses its buffer when the process ends, so only its batches are the same
        if (algorithm === 'grpo') expect(stepsOf(entries).at(-1)?.weights_sha256).toBe(stepsOf(whole.entries).at(-1)?.weights_sha256);
      }),
      { numRuns: 4 },
    );
  }, 90_000);

  it('goes on to the end that it was continued for, whoever resumes it, and is noted as over only while it is', async () => {
    const notes: (number | undefined)[] = [];
    const ends = { write: async (steps: number) => void notes.push(steps), remove: async () => void notes.push(undefined) };
    const log = await madeRun({ ends, settings: { ...settings, steps: 1 } });
    const open = (over: Partial<TrainerDeps>) => depsOf(log, { ends, ...over });
    for (const steps of [0, 1]) {
      await expect(runTrainer(open({ settings: { ...settings, steps } }), never)).rejects.toMatchObject({
        code: 'RUN_FINISHED',
        message: expect.stringMatching(/finished after step 1\. .*`turnstream serve`.*`turnstream up --run run-a --steps 2`/) as string,
      });
    }
    const stop = new AbortController();
    const report: TrainerDeps['report'] = ({ figures }) => {
      if ((figures['step'] ?? 0) >= 2) stop.abort();
    };
    expect(await runTrainer(open({ settings: { ...settings, steps: 4 }, report }), stop.signal)).toMatchObject({ kind: 'stopped' });
    expect((await ledgerOf(log)).report).toMatchObject({ ok: true, finished: false, continued: 1 });
    expect(await runTrainer(open({ settings: { ...settings, steps: 0 } }), never)).toEqual({ kind: 'finished', version: 4 });
    expect((await ledgerOf(log)).report).toMatchObject({ ok: true, steps: 4, finished: true, continued: 1 });
    expect(notes).toEqual([1, 1, 1, undefined, 4]);
    const failing = { write: () => Promise.reject(new Error('EROFS')), remove: async () => undefined };
    await expect(runTrainer(open({ ends: failing }), never), 'a note is only advice').rejects.toMatchObject({ code: 'RUN_FINISHED' });
  });

  it('is not continued when that cannot be committed, and the next trainer does it', async () => {
    const log = await madeRun({ settings: { ...settings, steps: 1 } });
    for (const point of ['commit', 'commit_answer'] as const) {
      const openWriter = async () => {
        const writer = await log.transactional('trainer.run-a');
        return {
          ...writer,
          commit: async (work: Parameters<typeof writer.commit>[0]) => {
            if (work.events.some(({ type }) => type === 'RunContinued'))
              log.failNext(point, new PlatformError('KAFKA_UNAVAILABLE', 'cut off'));
            return writer.commit(work);
          },
        };
      };
      await expect(runTrainer(depsOf(log, { openWriter }), never)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    }
    expect(await runTrainer(depsOf(log, {}), never)).toEqual({ kind: 'finished', version: 4 });
    expect((await ledgerOf(log)).report).toMatchObject({ ok: true, steps: 4, continued: 1 });
  });
});
