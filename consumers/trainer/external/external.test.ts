// An external trainer over the in-memory log.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../infra/lifecycle/clock.ts';
import { newRig, scriptedWorker, settings, type Rig } from '../../../infra/testing/trainer-rig.ts';
import { rewarded } from '../../../infra/testing/rollout-events.ts';
import { runTrainer } from '../trainer.ts';
import { serve, claim, lease, commitOf, linesOf, train, verifiedAsTold, closeServed } from './external-rig.testing.ts';

afterEach(closeServed);

/** Attaches a reward to every finished attempt, and returns their number. */
async function rewardAll(rig: Rig, value: number, identifier: string): Promise<number> {
  const ended = (await rig.all('rollouts')).flatMap((read) => (read.type === 'TrajectoryFinished' ? [read.event] : []));
  for (const { trajectory_id: trajectory, group_id: key } of ended) {
    await rig.log.writer().append([{ type: 'RewardAttached', key, event: rewarded({ trajectory }, value, { identifier }) }]);
  }
  return ended.length;
}

describe('an external trainer', () => {
  it('may start from its own weights: version 0 has their URI and hash', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const told = {
      uri: 's3://bucket/warm',
      sha256: 'a'.repeat(64),
      format: 'hf-safetensors',
      manifest: [{ name: 'a', sha256: 'b'.repeat(64) }],
    };
    const { coordinator, ended } = serve(rig, { named: async () => told });
    await train(coordinator, await claim(coordinator), 5);
    expect(await ended).toEqual({ kind: 'finished', version: 5 });
    const [first] = (await rig.all('policies')).map(({ event }) => event);
    expect(first).toMatchObject({ ...told, version: 0, parent: -1, loadable: true });
    const [started] = await rig.all('training');
    expect(started).toMatchObject({ type: 'RunStarted', event: { weights_sha256: told.sha256 } });
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, steps: 5, problems: [] });
  });

  it('claims the run, leases batches, reads their rows and commits its steps', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator, ended } = serve(rig);
    const claimed = await claim(coordinator, { framework: 'test' });
    expect(claimed).toEqual({ epoch: 1, version: 0, lineage: expect.stringMatching(/^[0-9a-f]{64}$/) as string, lease_ms: 60_000 });
    const leased = await lease(coordinator, claimed);
    expect(leased).toMatchObject({ batch_id: 'run-a/step/1.0', step: 1, version_before: 0, data: { shards: 1 } });
    expect(leased, 'the turns have no token ids').toMatchObject({ rows: 8, trainable_rows: 0 });
    const rows = await linesOf(coordinator, leased.batch_id);
    expect(rows.map(({ row }) => row)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(rows[0]).toMatchObject({ attempt: 0, branch: 0, reward: 0, trainable: false });
    const first = await coordinator.commit(leased.batch_id, commitOf(claimed, leased));
    expect(first).toMatchObject({ step: 1, version: 1, replayed: false });
    await train(coordinator, { ...claimed, lineage: first.lineage }, 4);
    expect(await ended).toEqual({ kind: 'finished', version: 5 });
    const report = await verifiedAsTold(rig);
    expect(report).toMatchObject({ ok: true, steps: 5, trained: 40, problems: [] });
    const policies = (await rig.all('policies')).map(({ event }) => event);
    expect(policies.at(-1)).toMatchObject({ version: 5, parent: 4, uri: 'file:///w/5', backend: 'external', format: 'hf-safetensors' });
    const steps = (await rig.all('training')).flatMap((read) => (read.type === 'StepCompleted' ? [read.event] : []));
    expect(steps[0]).toMatchObject({
      batch_id: 'run-a/step/1.0',
      trained_rows: 0,
      report: '{"loss":1,"mine":0.5}',
      lineage: claimed.lineage,
    });
    expect(steps[0]?.metrics.loss).toBe(1);
    expect(steps[1]?.lineage).toBe(first.lineage);
  });

  it('gets the first response when it repeats a commit, and an error for a commit with other contents', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator } = serve(rig);
    const claimed = await claim(coordinator);
    const leased = await lease(coordinator, claimed);
    const body = commitOf(claimed, leased);
    const mismatch = coordinator.commit(leased.batch_id, { ...body, batch_sha256: '0'.repeat(64) });
    await expect(mismatch).rejects.toMatchObject({ code: 'BATCH_MISMATCH' });
    const beyond = coordinator.commit(leased.batch_id, { ...body, skipped: [{ row: leased.rows, reason: 'long' }] });
    await expect(beyond).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
    const first = await coordinator.commit(leased.batch_id, body);
    expect(await coordinator.commit(leased.batch_id, { ...body })).toEqual({ ...first, replayed: true });
    await expect(coordinator.commit(leased.batch_id, { ...body, train_ms: 4 })).rejects.toMatchObject({ code: 'BATCH_COMMITTED' });
    expect((await verifiedAsTold(rig)).steps).toBe(1);
  });

  it('reads the same rows after a restart during a lease, and can commit them', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const before = serve(rig);
    const claimed = await claim(before.coordinator);
    const leased = await lease(before.coordinator, claimed);
    const rows = await linesOf(before.coordinator, leased.batch_id);
    await before.stop();
    await expect(before.coordinator.extend(leased.batch_id, { epoch: 1 })).rejects.toMatchObject({ code: 'COORDINATOR_UNAVAILABLE' });

    const { coordinator } = serve(rig);
    await vi.waitFor(() => coordinator.extend(leased.batch_id, { epoch: 1 }), { timeout: 10_000, interval: 20 });
    expect(await linesOf(coordinator, leased.batch_id)).toEqual(rows);
    expect(await lease(coordinator, claimed, { held: [] })).toMatchObject({ batch_id: leased.batch_id, batch_sha256: leased.batch_sha256 });
    expect(await coordinator.commit(leased.batch_id, commitOf(claimed, leased))).toMatchObject({ version: 1, replayed: false });
    expect(await linesOf(coordinator, leased.batch_id), 'readable after its commit').toEqual(rows);
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('trains on the rewards at the time of the lease, whatever arrives later or after a restart', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const waiting = { settings: { ...settings, rewardNames: 'human' } };
    const before = serve(rig, {}, waiting);
    const claimed = await claim(before.coordinator);
    const all = async (): Promise<void> => {
      expect(await rewardAll(rig, 0.25, 'first')).toBe(16);
    };
    await vi.waitFor(all, { timeout: 10_000, interval: 50 });
    const leased = await lease(before.coordinator, claimed);
    const rows = await linesOf(before.coordinator, leased.batch_id);
    expect(rows.map(({ reward }) => reward)).toEqual([0.25, 1.25, 0.25, 1.25, 0.25, 1.25, 0.25, 1.25]);
    await rewardAll(rig, 7, 'late');
    await before.stop();

    const { coordinator } = serve(rig, {}, waiting);
    await vi.waitFor(() => coordinator.extend(leased.batch_id, { epoch: 1 }), { timeout: 10_000, interval: 20 });
    await coordinator.commit(leased.batch_id, commitOf(claimed, leased));
    const ledger = await rig.all('training');
    const step = ledger.flatMap((read) => (read.type === 'StepCompleted' ? [read.event] : []))[0];
    expect(step?.trajectories.map(({ reward }) => reward)).toEqual(rows.map(({ reward }) => reward));
    const out = ledger.flatMap((read) => (read.type === 'BatchLeased' ? [read.event] : []))[0];
    const counted = ledger.flatMap((read) => (read.type === 'RewardsCounted' ? read.event.groups : []));
    expect(counted.filter(({ group_id: id }) => out?.group_ids.includes(id)).map(({ end }) => end)).toEqual(
      counted.flatMap(({ group_id: id, partition }) =>
        out?.group_ids.includes(id) === true ? [out.rollouts.find((range) => range.partition === partition)?.end] : [],
      ),
    );
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('is fenced by a second claim, and its batch is leased again', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator } = serve(rig);
    const old = await claim(coordinator);
    const lost = await lease(coordinator, old);
    const successor = await claim(coordinator, { lineage: old.lineage });
    expect(successor).toMatchObject({ epoch: 2, version: 0 });
    for (const call of [
      () => coordinator.commit(lost.batch_id, commitOf(old, lost)),
      () => coordinator.extend(lost.batch_id, old),
      () => coordinator.release(lost.batch_id, old),
      () => lease(coordinator, old),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'FENCED' });
    }
    await expect(coordinator.commit(lost.batch_id, commitOf(successor, lost))).rejects.toMatchObject({ code: 'BATCH_RELEASED' });
    const again = await lease(coordinator, successor);
    expect(again).toMatchObject({ batch_id: 'run-a/step/1.1', batch_sha256: lost.batch_sha256 });
    await coordinator.commit(again.batch_id, commitOf(successor, again));
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, steps: 1, problems: [] });
  });

  it('loses a batch and all later ones when a lease expires, unless it extends them', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator } = serve(rig, { leaseMs: 400 });
    const claimed = await claim(coordinator);
    const [first, second] = [await lease(coordinator, claimed), await lease(coordinator, claimed)];
    expect(second).toMatchObject({ step: 2, version_before: 1 });
    await expect(coordinator.commit(second.batch_id, commitOf(claimed, second))).rejects.toMatchObject({ code: 'BATCH_OUT_OF_ORDER' });
    const nothing = await coordinator.lease('run-a', { epoch: 1, lineage: claimed.lineage }, new AbortController().signal);
    expect(nothing, 'the limit of leases is reached').toBeUndefined();
    const until = systemClock.monotonic() + 800;
    while (systemClock.monotonic() < until) {
      await coordinator.extend(first.batch_id, claimed);
      await coordinator.extend(second.batch_id, claimed);
    }
    await vi.waitFor(() => expect(coordinator.extend(first.batch_id, claimed)).rejects.toMatchObject({ code: 'BATCH_RELEASED' }), {
      timeout: 10_000,
      interval: 2_000,
    });
    await expect(coordinator.extend(second.batch_id, claimed)).rejects.toMatchObject({ code: 'BATCH_RELEASED' });
    const again = await lease(coordinator, claimed);
    expect(again).toMatchObject({ batch_id: 'run-a/step/1.1', batch_sha256: first.batch_sha256 });
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('gets no groups whose records retention has deleted: they are discarded', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator } = serve(rig);
    // all that may be requested at version 0
    const isReady = (): void => {
      expect(rig.statuses.at(-1)?.figures['ready']).toBe(6);
    };
    await vi.waitFor(isReady, { timeout: 10_000, interval: 50 });
    for (const { partition, end } of await rig.log.reader().bounds('rollouts')) rig.log.deleteBefore('rollouts', partition, end);
    const leased = await lease(coordinator, await claim(coordinator));
    expect(await linesOf(coordinator, leased.batch_id)).toHaveLength(8);
    const ledger = await rig.all('training');
    const lost = ledger.flatMap((read) => (read.type === 'TrajectoryDiscarded' ? [read.event] : []));
    expect(lost.map(({ reason }) => reason)).toEqual(Array(24).fill('lost'));
    const gone = new Set(lost.map(({ group_id: id }) => id));
    expect(leased.groups.filter(({ group_id: id }) => gone.has(id))).toEqual([]);
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('commits a step that it prepared before a crash, unless the batch was released in between', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const { coordinator } = serve(rig);
    const dead = await claim(coordinator);
    const leased = await lease(coordinator, dead);
    const body = commitOf(dead, leased);
    const prepared = { batch_id: leased.batch_id, weights_sha256: body.policy?.sha256 ?? '' };
    const successor = await claim(coordinator, { lineage: dead.lineage, prepared });
    const first = await coordinator.commit(leased.batch_id, { ...body, epoch: successor.epoch });
    expect(first).toMatchObject({ version: 1, replayed: false });
    // the response was lost, and the trainer crashed again
    const third = await claim(coordinator, { lineage: dead.lineage, prepared });
    expect(third).toMatchObject({ epoch: 3, version: 1, lineage: first.lineage });
    expect(await coordinator.commit(leased.batch_id, { ...body, epoch: 3 })).toEqual({ ...first, replayed: true });

    const next = await lease(coordinator, third);
    await coordinator.release(next.batch_id, third);
    const late = coordinator.claim('run-a', {
      trainer_id: 't',
      lineage: first.lineage,
      prepared: { ...prepared, batch_id: next.batch_id },
    });
    const restore = { version: 1, uri: 'file:///w/1', sha256: body.policy?.sha256 };
    await expect(late).rejects.toMatchObject({ code: 'LINEAGE_MISMATCH', context: { restore } });
    const behind = coordinator.claim('run-a', { trainer_id: 't', lineage: dead.lineage });
    await expect(behind).rejects.toMatchObject({ code: 'LINEAGE_MISMATCH', context: { restore } });
    const stranger = coordinator.claim('run-a', { trainer_id: 't', lineage: 'f'.repeat(64) });
    await expect(stranger).rejects.toMatchObject({ code: 'LINEAGE_UNKNOWN' });
    expect(await claim(coordinator), 'without a checkpoint').toMatchObject({ epoch: 4, version: 1, restore });
    expect(await verifiedAsTold(rig)).toMatchObject({ ok: true, problems: [] });
  });

  it('does not continue a run of the built-in learner, nor the other way around', async () => {
    const rig = newRig();
    await scriptedWorker(rig);
    const one = { ...settings, steps: 1 };
    await runTrainer(rig.deps({ settings: one }), new AbortController().signal);
    await expect(serve(rig, {}, { settings: { ...settings, steps: 2 } }).ended).rejects.toMatchObject({ code: 'RUN_CONFLICT' });
    const other = newRig();
    await scriptedWorker(other);
    const { coordinator, stop } = serve(other);
    await claim(coordinator);
    await stop();
    await expect(runTrainer(other.deps(), new AbortController().signal)).rejects.toMatchObject({ code: 'RUN_CONFLICT' });
  });
});
