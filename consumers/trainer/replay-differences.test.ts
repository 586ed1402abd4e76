import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { LogRecord } from '../../streams/core/ports.ts';
import { entryHash } from '../../streams/ledger/chain.ts';
import { learnerRecord, parameterDifferences, recordedLearner } from './learner-record.ts';
import { architecture, madeRun, openWith, replayed, setUpReplay } from './replay.testing.ts';

setUpReplay();

/** Where records are changed; a `forged ledger` is `training` with a chain that is valid again. */
type ForgedTopic = 'rollouts' | 'training' | 'policies' | 'forged ledger';

/** The same log with some records changed at the same offsets. */
function changed(log: MemoryLog, place: ForgedTopic, change: (value: DecodedEvent) => DecodedEvent | undefined): MemoryLog {
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

describe('a replay of a changed log', () => {
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

  it('finds a changed ledger entry, and changed weights', async () => {
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

  it('finds a resume point that is too late, in a ledger with a valid chain', async () => {
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

  it('finds a trajectory without an outcome in the ledger', async () => {
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

  it('reports that retention has deleted records', async () => {
    const log = await madeRun();
    for (const { partition } of log.partitionsOf('rollouts')) log.deleteBefore('rollouts', partition, 6);
    const { steps } = await replayed(log, {}, { first: 1, last: 1 });
    const rebuilt = expect.stringContaining('retention has deleted records: rollouts/') as string;
    expect(steps[0]!.differences[0]).toMatchObject({ field: 'trajectory', rebuilt });
  });

  it('reports that there is no such run or step', async () => {
    const log = await madeRun();
    await expect(replayed(log, { runId: 'run-z' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(replayed(log, {}, { first: 9, last: 9 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(replayed(log, {}, { first: 9 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('what a run records of its learner', () => {
  it('is read back, and is undefined where it is missing or invalid', () => {
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
