// A run whose policy comes from outside the trainer, over the in-memory log: real codec, real fold, real commits; a scripted worker answers
// with the versions that a model would report.
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { followTasks, stopFollowing } from '../../infra/testing/follow-events.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, started, turn } from '../../infra/testing/rollout-events.ts';
import { settings as rigSettings } from '../../infra/testing/trainer-rig.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';
import { createCodec } from '../../schemas/codec.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { EventByType, EventType, TrajectoryRequested } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Learner } from '../../streams/core/learning.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { isLedgerType, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier } from '../../streams/run/verify-ledger.ts';
import { rolloutView } from '../../streams/trajectory/rollout-view.ts';
import type { TrainerDeps } from './deps.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';
import { runTrainer } from './trainer.ts';

const settings: RunSettings = { ...rigSettings, maxDiscarded: 0.95 };
const never = new AbortController().signal;

interface ScriptedAnswer {
  readonly version?: number;
  readonly reward?: number;
  readonly status?: string;
}
type ScriptedWorker = (request: TrajectoryRequested, asked: number) => ScriptedAnswer;

afterEach(stopFollowing);

async function newRig(worker: ScriptedWorker) {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  const events = codecReader(log.codec);
  const statuses: RoleStatus[] = [];
  const warned: string[] = [];
  const asked: TrajectoryRequested[] = [];
  const deps = (overrides: Partial<TrainerDeps> = {}): TrainerDeps => ({
    ...{ runId: 'run-a', producer: 'trainer/t-0', settings, learner: undefined, codec: log.codec, events },
    architecture: { format: 'mlp-f32-v1', inputs: 2, hidden: [4] },
    log: log.reader(),
    rollouts: codecReader(createCodec({ view: rolloutView })),
    openWriter: () => log.transactional('trainer.run-a'),
    offsets: log.offsets,
    groups: { trainer: 'trainer.run-a', workers: 'workers.run-a' },
    weights: { put: async (sha256) => `memory:${sha256}`, get: async () => Buffer.alloc(0) },
    questions: async () => ({
      count: 10,
      find: (id) => ({ question_id: id, question: 'Which?', answers: ['a'], aug_answers: [] }),
      at: (index) => ({ question_id: `q-${index % 10}`, question: 'Which?', answers: ['a'], aug_answers: [] }),
    }),
    clock: systemClock,
    logger: { ...silentLogger, warn: (_fields: object, text: string) => void warned.push(text) },
    metrics: noMetrics,
    report: (status) => void statuses.push(status),
    ...overrides,
  });
  const entries = async (topic: 'training' | 'policies') => {
    const found: { type: EventType; event: unknown; body: Buffer; offset: number }[] = [];
    await log.reader().readToEnd(topic, {
      onBatch: async ({ records }) => {
        for (const record of records) {
          const read = events.read(record);
          if (read.ok) found.push({ ...read.value, offset: record.offset, body: bodyOf(record.value ?? Buffer.alloc(5)) });
        }
      },
    });
    return found;
  };
  const of = async <T extends EventType>(type: T) =>
    (await entries('training')).flatMap((read) => (read.type === type ? [read.event as EventByType[T]] : []));
  const verified = async () => {
    const verifier = createLedgerVerifier();
    for (const read of await entries('training'))
      if (isLedgerType(read.type)) verifier.entry(read as unknown as LedgerEntry, read.body, read.offset);
    return verifier.report();
  };
  await followTasks(log, (request) => {
    asked.push(request);
    return answer(log, request, worker(request, asked.length));
  });
  return { log, deps, statuses, warned, asked, of, entries, verified };
}

async function answer(
  log: MemoryLog,
  request: TrajectoryRequested,
  { version = -1, reward, status = 'answered' }: ScriptedAnswer,
): Promise<void> {
  const { trajectory_id: trajectory, attempt, group_id: key, sample } = request;
  const place = (sequence: number) => ({ trajectory, attempt, sequence });
  const without = { decision: null };
  await log.writer().append([
    { type: 'TrajectoryStarted', key, event: started(place(0)) },
    { type: 'TurnRecorded', key, event: turn(place(1), version, without) },
    { type: 'TrajectoryFinished', key, event: finished(place(2), reward ?? sample % 2, { status }) },
  ]);
}

describe('a run whose policy the trainer does not make', () => {
  it.each([
    ['names one version', () => 7, 7, 'The newest version that the model named is 7.'],
    ['changes its weights', (asked: number) => Math.floor(asked / 10), 3, /The newest version that the model named is \d\./],
    ['names none', () => -1, -1, 'The model named no version of its weights.'],
  ] as const)('collects its batches and ends by itself when the model %s', async (...[, versionOf, least, says]) => {
    const rig = await newRig((_request, asked) => ({ version: versionOf(asked) }));
    expect(await runTrainer(rig.deps(), never)).toMatchObject({ kind: 'finished' });
    const report = await rig.verified();
    expect(report).toMatchObject({ ok: true, problems: [], steps: 0, batches: 5, trained: 0, collected: 40, finished: true });
    expect(report.admitted).toBe(report.collected + report.discarded + report.open);
    expect(await rig.entries('policies')).toEqual([]);
    const [start] = await rig.of('RunStarted');
    expect(start).toMatchObject({ backend: 'none', learner: '{}', weights_sha256: '' });
    const batches = await rig.of('BatchCollected');
    expect(batches.map(({ batch, groups }) => [batch, groups])).toEqual([1, 2, 3, 4, 5].map((batch) => [batch, 2]));
    for (const { trajectories, tokens, unknown_tokens: unknown } of batches) {
      expect(tokens).toBe(80);
      expect(unknown).toBe(least < 0 ? 80 : 0);
      for (const { staleness_worst: worst } of trajectories) expect(worst).toBeLessThanOrEqual(2);
    }
    const versions = batches.map(({ version }) => version);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(versions.at(-1)).toBeGreaterThanOrEqual(least);
    const [end] = await rig.of('RunFinished');
    expect(end).toMatchObject({ reason: 'collected', steps: 0, batches: 5, collected: 40, trained: 0, version: versions.at(-1) });
    expect(end?.detail).toMatch(/^Collected 5 batches: kept 40 of \d+ trajectories/);
    expect(end?.detail).toMatch(says);
    expect(rig.asked.length, 'no more is asked for than is wanted').toBeLessThanOrEqual(40 + (report.discarded + report.open));
    expect(rig.statuses.some(({ figures }) => figures['batches'] === 5 && figures['step'] === 0)).toBe(true);
  });

  it('names the newest version of the model at its end although no group of that version was kept', async () => {
    const rig = await newRig(() => ({ version: 7, reward: 0 }));
    await runTrainer(rig.deps(), never);
    const [end] = await rig.of('RunFinished');
    expect(end).toMatchObject({ reason: 'mostly_discarded', batches: 0, version: 7 });
    expect(end?.detail).toContain('The newest version that the model named is 7.');
  });

  it('counts the staleness of a batch from the newest version that the model has named, kept or not', async () => {
    const rig = await newRig(({ group_index: index, sample }, asked) =>
      index === 0 ? { version: 20, reward: 0 } : { version: asked < 40 ? 18 : 19, reward: sample % 2 },
    );
    await runTrainer(rig.deps({ settings: { ...settings, maxStaleness: 4 } }), never);
    const batches = await rig.of('BatchCollected');
    expect(batches.at(-1)).toMatchObject({ version: 20 });
    expect(batches.at(-1)?.trajectories[0]?.staleness_total).toBeGreaterThan(0);
  });

  it('waits for no version with a staleness of 0', async () => {
    const rig = await newRig((_request, asked) => ({ version: Math.floor(asked / 10) }));
    await runTrainer(rig.deps({ settings: { ...settings, maxStaleness: 0, maxConcurrent: 2, batchGroups: 1 } }), never);
    expect(new Set(rig.asked.map(({ policy_version: version }) => version))).toEqual(new Set([-1]));
  });

  it('requests no more trajectories than it needs when nothing is discarded', async () => {
    const rig = await newRig(() => ({ version: 1 }));
    await runTrainer(rig.deps({ settings: { ...settings, maxConcurrent: 100 } }), never);
    expect(rig.asked).toHaveLength(40);
  });

  it('continues after a crash at any commit, and beyond its end when more batches are configured', async () => {
    const rig = await newRig((_request, asked) => ({ version: Math.floor(asked / 20) }));
    for (const nth of [1, 2, 3]) {
      let commits = 0;
      const openWriter = async () => {
        const writer = await rig.log.transactional('trainer.run-a');
        const commit = async (work: Parameters<typeof writer.commit>[0]) => {
          commits += 1;
          if (commits === nth) rig.log.failNext('commit_answer', new PlatformError('KAFKA_UNAVAILABLE', 'committing: cut off'));
          return writer.commit(work);
        };
        return { ...writer, commit };
      };
      await expect(runTrainer(rig.deps({ openWriter }), never)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
    }
    await runTrainer(rig.deps(), never);
    expect(await rig.verified()).toMatchObject({ ok: true, problems: [], batches: 5, collected: 40 });
    await expect(runTrainer(rig.deps(), never)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    await runTrainer(rig.deps({ settings: { ...settings, steps: 7 } }), never);
    expect(await rig.verified()).toMatchObject({ ok: true, problems: [], batches: 7, collected: 56, continued: 1 });
  });
});

describe('a run that is not worth continuing', () => {
  it('stops when most groups are discarded as stale, says why, and continues with other settings', async () => {
    // every fourth answer comes from much newer weights
    const rig = await newRig(({ sample }, asked) => ({ version: sample === 3 ? 100 * asked : 0 }));
    await runTrainer(rig.deps(), never);
    const [end] = await rig.of('RunFinished');
    expect(end).toMatchObject({ reason: 'mostly_discarded', collected: 0, batches: 0, steps: 0 });
    expect(end?.detail).toMatch(/^Stopped asking: 6\d of the last 6\d groups were discarded \(stale \d+.*TURNSTREAM_MAX_STALENESS/);
    expect(rig.asked.length).toBeLessThanOrEqual(4 * (64 + 2 * settings.maxConcurrent));
    expect(rig.warned).toContain(end?.detail);
    expect(rig.statuses.at(-1)).toMatchObject({ detail: end?.detail, figures: { ended_early: 1 } });
    await runTrainer(rig.deps({ settings: { ...settings, maxStaleness: 2, maxDiscarded: 0.5 } }), never);
    expect((await rig.of('RunContinued')).length).toBe(1);
    expect(await rig.verified()).toMatchObject({ ok: true, problems: [] });
  });

  it('requests no refused trajectory again, and stops when no group finishes', async () => {
    const rig = await newRig(() => ({ status: 'refused' }));
    await runTrainer(rig.deps(), never);
    const [end] = await rig.of('RunFinished');
    expect(end).toMatchObject({ reason: 'nothing_finished', collected: 0 });
    expect(end?.detail).toMatch(/none of the last 16 groups finished/);
    expect(new Set(rig.asked.map(({ attempt }) => attempt))).toEqual(new Set([0]));
    expect(new Set((await rig.of('TrajectoryExpired')).map(({ reason, next_attempt: next }) => `${reason} ${next}`))).toEqual(
      new Set(['refused -1']),
    );
    expect(await rig.verified()).toMatchObject({ ok: true, problems: [] });
  });

  it('collects the groups that are ready when it stops', async () => {
    const rig = await newRig(({ group_index: index, sample }) => ({ version: 1, reward: index === 3 ? sample % 2 : 0 }));
    await runTrainer(rig.deps(), never);
    const [end] = await rig.of('RunFinished');
    expect(end).toMatchObject({ reason: 'mostly_discarded', collected: 4, batches: 1 });
    expect((await rig.of('BatchCollected')).map(({ groups }) => groups)).toEqual([1]);
    const types = (await rig.entries('training')).map(({ type }) => type);
    expect(types.slice(types.indexOf('BatchCollected'))).not.toContain('GroupsAdmitted');
    expect(await rig.verified()).toMatchObject({ ok: true, problems: [] });
  });

  it('ends when its steps do not change the weights, and says so', async () => {
    const same = { weights: Buffer.from('w'), optimizer: Buffer.alloc(0) };
    const metrics = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 0 };
    const learner: Learner = {
      backend: 'cpu',
      initial: async () => same,
      restore: async () => undefined,
      train: async () => ({ ...same, metrics, trainMs: 1 }),
      close: async () => undefined,
    };
    const rig = await newRig(({ admitted_version: version }) => ({ version }));
    expect(await runTrainer(rig.deps({ learner }), never)).toEqual({ kind: 'finished', version: 3 });
    const [end] = await rig.of('RunFinished');
    expect(end).toMatchObject({ reason: 'nothing_learned', steps: 3, trained: 24, batches: 0 });
    expect(end?.detail).toMatch(/left the weights as they were\. Made 3 steps: trained on 24 of/);
    expect(createHash('sha256').update('w').digest('hex')).toBe((await rig.of('RunStarted'))[0]?.weights_sha256);
  });
});
