// Committed versions of an external trainer: weights that are published late, rewinds, and responses after the end of the run.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newRig, scriptedWorker, settings } from '../../../infra/testing/trainer-rig.ts';
import type { Coordinator } from '../../../streams/leases/coordinator.ts';
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { createEndedCoordinator } from '../../../streams/leases/ended-coordinator.ts';
import { createLogRows } from './log-rows.ts';
import { answerRows } from './rows-answer.ts';
import { serve, claim, lease, commitOf, linesOf, train, verifiedAsTold, closeServed } from './external-rig.testing.ts';

afterEach(closeServed);

describe('the versions of an external trainer', () => {
  it('get the same response to a repeated commit after the end of the run, from the coordinator and then from the ledger', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator, ended } = serve(rig, { lingerMs: 60_000 }, { settings: { ...settings, steps: 1 } });
    const claimed = await claim(coordinator);
    const leased = await lease(coordinator, claimed);
    const body = commitOf(claimed, leased);
    const first = await coordinator.commit(leased.batch_id, body);
    const rows = await linesOf(coordinator, leased.batch_id);
    const source = { log: rig.log.reader(), events: rig.events, runId: 'run-a' };
    const log = createLogRows(source);
    const rowsOf = (of: BatchLeased) => answerRows(of, log, {});
    const otherwise = new Error('the run goes on');
    const inLedger = createEndedCoordinator({ source, rowsOf, otherwise });
    const check = async (asked: Coordinator): Promise<void> => {
      expect(await asked.commit(leased.batch_id, { ...body, epoch: 7 })).toEqual({ ...first, replayed: true });
      await expect(asked.commit(leased.batch_id, { ...body, train_ms: 4 })).rejects.toMatchObject({ code: 'BATCH_COMMITTED' });
      await expect(asked.claim('run-a', { trainer_id: 't' })).rejects.toMatchObject({ code: 'RUN_FINISHED' });
      expect(await linesOf(asked, leased.batch_id)).toEqual(rows);
    };
    await vi.waitFor(() => check(coordinator), { timeout: 10_000, interval: 20 });
    const after = coordinator.lease('run-a', { epoch: 1, lineage: first.lineage }, new AbortController().signal);
    await expect(after, 'a call with the last lineage').rejects.toMatchObject({ code: 'RUN_FINISHED' });
    expect(await ended).toEqual({ kind: 'finished', version: 1 });
    await check(inLedger);
    await expect(inLedger.rows('run-a/step/9.0', {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(inLedger.extend(leased.batch_id, claimed)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    const other = createEndedCoordinator({ source: { ...source, runId: 'run-b' }, rowsOf, otherwise });
    await expect(other.claim('run-b', { trainer_id: 't' })).rejects.toBe(otherwise);
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, steps: 1, problems: [] });
  });

  it('may be published after their commit and at a new location, but never with other weights', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator } = serve(rig);
    const warm = { version: 0, uri: 'file:///warm', sha256: 'a'.repeat(64), format: 'hf-safetensors' };
    const before = await claim(coordinator);
    expect(await coordinator.publish('run-a', { ...warm, epoch: 1 })).toEqual({ version: 0, sha256: warm.sha256, replayed: false });
    expect(await coordinator.publish('run-a', warm), 'again').toMatchObject({ replayed: true });
    const leased = await lease(coordinator, before);
    const { lineage } = await coordinator.commit(leased.batch_id, { ...commitOf(before, leased), policy: null });
    const unpublished = { version: 1, uri: '', sha256: '', format: '', weights: 'unpublished' };
    const claimed = await claim(coordinator);
    expect(claimed).toMatchObject({ lineage, restore: unpublished });
    const behind = coordinator.claim('run-a', { trainer_id: 't', lineage: before.lineage });
    await expect(behind).rejects.toMatchObject({ code: 'LINEAGE_MISMATCH', context: { restore: unpublished } });

    const late = { version: 1, uri: 's3://w/1', sha256: 'b'.repeat(64), format: 'hf-safetensors' };
    await coordinator.publish('run-a', late);
    for (const version of [0, 1]) {
      const other = coordinator.publish('run-a', { ...late, version, sha256: 'c'.repeat(64) });
      await expect(other).rejects.toMatchObject({ code: 'WEIGHTS_CONFLICT' });
    }
    await expect(coordinator.publish('run-a', { ...late, version: 2 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(coordinator.publish('run-a', { ...late, epoch: 1 })).rejects.toMatchObject({ code: 'FENCED' });
    await coordinator.publish('run-a', { ...late, uri: 's3://moved/1' });
    expect((await claim(coordinator)).restore).toEqual({ ...late, uri: 's3://moved/1', weights: 'elsewhere' });
    const policies = (await rig.all('policies')).map(({ event }) => event);
    expect(policies.map(({ event_id: id }) => id.split('/', 3).join('/'))).toEqual(['run-a/policy/0', 'run-a/policy/1', 'run-a/policy/1']);
    expect(new Set(policies.map(({ event_id: id }) => id)).size).toBe(3);
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, steps: 1, problems: [] });
  });

  it('are published again when their size, files, or loadability were corrected, and not for the same request', async () => {
    const rig = newRig();
    const { coordinator } = serve(rig);
    await claim(coordinator);
    const warm = { version: 0, uri: 'file:///warm', sha256: 'a'.repeat(64), format: 'hf-safetensors' };
    for (const more of [{}, { bytes: 9 }, { loadable: false }, { manifest: [{ name: 'a', sha256: 'd'.repeat(64) }] }]) {
      expect(await coordinator.publish('run-a', { ...warm, ...more })).toMatchObject({ replayed: false });
      expect(await coordinator.publish('run-a', { ...warm, ...more })).toMatchObject({ replayed: true });
    }
    expect(await rig.all('policies')).toHaveLength(4);
  });

  it('may be published for the last version after the trainer knows that the run has finished', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator, ended } = serve(rig, { lingerMs: 60_000 }, { settings: { ...settings, steps: 1 } });
    const claimed = await claim(coordinator);
    const leased = await lease(coordinator, claimed);
    const { lineage } = await coordinator.commit(leased.batch_id, { ...commitOf(claimed, leased), policy: null });
    const after = () => coordinator.lease('run-a', { epoch: 1, lineage }, new AbortController().signal);
    const isOver = () => expect(after()).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    await vi.waitFor(isOver, { timeout: 10_000, interval: 20 });
    const late = { version: 1, uri: 's3://w/1', sha256: 'b'.repeat(64), format: 'hf-safetensors' };
    expect(await coordinator.publish('run-a', late)).toEqual({ version: 1, sha256: late.sha256, replayed: false });
    expect(await ended).toEqual({ kind: 'finished', version: 1 });
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('can be rewound: later steps are abandoned, and samples of their versions are not trained on', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const first = serve(rig, {}, { settings: { ...settings, steps: 20 } });
    const claimed = await claim(first.coordinator);
    const one = await train(first.coordinator, claimed, 1);
    const three = await train(first.coordinator, one, 2);
    const lost = first.coordinator.claim('run-a', { trainer_id: 't', lineage: one.lineage, rewind: { to_version: 2 } });
    await expect(lost, 'not its checkpoint').rejects.toMatchObject({ code: 'REWIND_REFUSED' });
    const rewind = { to_version: 1, reason: 'the disk is gone' };
    const back = await claim(first.coordinator, { lineage: one.lineage, rewind });
    expect(back).toMatchObject({ epoch: 2, version: 4 });
    expect(await claim(first.coordinator, { lineage: one.lineage, rewind }), 'the answer was lost').toMatchObject({
      ...{ epoch: 3, version: 4, lineage: back.lineage },
    });
    const abandoned = first.coordinator.claim('run-a', { trainer_id: 't', lineage: three.lineage });
    await expect(abandoned).rejects.toMatchObject({ code: 'LINEAGE_MISMATCH', context: { restore: { version: 4, uri: 'file:///w/1' } } });
    await first.stop();

    const { coordinator } = serve(rig, {}, { settings: { ...settings, steps: 20 } });
    const again = await claim(coordinator);
    expect(again).toMatchObject({ epoch: 4, lineage: back.lineage, restore: { version: 4, sha256: '1'.padStart(64, '0') } });
    const leased = await lease(coordinator, again);
    expect(leased).toMatchObject({ step: 5, version_before: 4 });
    await coordinator.commit(leased.batch_id, commitOf(again, leased));
    const entries = await rig.all('training');
    const rewound = entries.flatMap((read) => (read.type === 'RunRewound' ? [read.event] : []));
    expect(rewound).toMatchObject([{ version: 4, to_version: 1, abandoned: [2, 3], trajectories: 16, reason: 'the disk is gone' }]);
    const discards = entries.flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event] : []));
    expect(discards.filter(({ reason }) => reason === 'rewound').every(({ version_first: of }) => of === 2 || of === 3)).toBe(true);
    const steps = entries.flatMap((read) => (read.type === 'StepCompleted' ? [read.event] : []));
    const sampled = steps.at(-1)?.trajectories.map(({ version_first: of }) => of) ?? [];
    expect(sampled.filter((of) => of === 2 || of === 3)).toEqual([]);
    const policies = (await rig.all('policies')).map(({ event }) => event);
    expect(policies).toContainEqual(expect.objectContaining({ version: 4, parent: 1, uri: 'file:///w/1' }));
    const report = await verifiedAsTold(rig);
    expect(report).toMatchObject({ ok: true, steps: 4, version: 5, trained: 16, problems: [] });
  });
});
