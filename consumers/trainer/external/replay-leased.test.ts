import { afterEach, describe, expect, it, vi } from 'vitest';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { stopFollowing } from '../../../infra/testing/follow-events.ts';
import { newRig, scriptedWorker, type Rig } from '../../../infra/testing/trainer-rig.ts';
import { createCodec } from '../../../schemas/codec.ts';
import type { EventByType } from '../../../schemas/generated/events.ts';
import type { WeightsOfCommit } from '../../../streams/leases/coordinator.ts';
import { rolloutView } from '../../../streams/trajectory/rollout-view.ts';
import { replayRun, type ReplayTotal, type StepReplay } from '../replay.ts';
import { runTrainer } from '../trainer.ts';
import { createCoordinator } from './coordinator.ts';
import { createDesk } from './desk.ts';
import { createLogRows } from './log-rows.ts';

afterEach(stopFollowing);

/** Trains five steps with an external trainer. */
async function madeRun(policyOf: (step: number) => WeightsOfCommit | null = () => null): Promise<Rig> {
  const rig = newRig();
  await scriptedWorker(rig);
  const [desk, rows] = [createDesk(), createLogRows({ log: rig.log.reader(), events: rig.events })];
  const external = { desk, rows, leaseMs: 60_000, prefetch: 1, lingerMs: 0 };
  const ended = runTrainer(rig.deps({ learner: undefined, external }), new AbortController().signal);
  const coordinator = createCoordinator({ runId: 'run-a', desk, rows, findLease: async () => undefined });
  const claimed = await vi.waitFor(() => coordinator.claim('run-a', { trainer_id: 't' }), { timeout: 10_000, interval: 20 });
  const { epoch } = claimed;
  let { lineage } = claimed;
  for (let step = 1; step <= 5; step += 1) {
    const leased = await coordinator.lease('run-a', { epoch, lineage, wait_ms: 8_000 }, new AbortController().signal);
    if (leased === undefined) throw new Error('there is nothing to lease');
    const { batch_id: id, batch_sha256 } = leased;
    ({ lineage } = await coordinator.commit(id, { epoch, batch_sha256, policy: policyOf(step), metrics: {} }));
  }
  expect(await ended).toMatchObject({ kind: 'finished' });
  return rig;
}

async function replayed({ log, events }: Rig): Promise<ReplayTotal & { readonly told: readonly StepReplay[] }> {
  const told: StepReplay[] = [];
  const rollouts = codecReader(createCodec({ view: rolloutView }));
  const weights = { put: async () => '', get: async () => Buffer.alloc(0) };
  const openLearner = (): never => {
    throw new Error('an update of somebody else was repeated');
  };
  const deps = { runId: 'run-a', log: log.reader(), events, rollouts, weights, openLearner };
  const total = await replayRun(deps, { first: 1, last: Infinity, fromStart: false }, (step) => void told.push(step));
  return { ...total, told };
}

describe('the replay of a run with an external trainer', () => {
  it('rebuilds the rows of each step, and finds differences', async () => {
    const rig = await madeRun();
    const whole = await replayed(rig);
    expect(whole).toMatchObject({ steps: 5, differing: 0, isExternal: true });
    expect(whole.told.map(({ from, update }) => [from, update])).toEqual(Array(5).fill(['resume', undefined]));

    edit(rig, { topic: 'rollouts', type: 'TurnRecorded' }, () => ({ logprobs_kind: 'raw' }));
    const changed = await replayed(rig);
    expect(changed.differing).toBe(1);
    expect(changed.told.flatMap(({ differences }) => differences.map(({ field }) => field))).toEqual(['batch_sha256']);
  });

  it('compares the weights and the parent of each version with the ledger', async () => {
    const rig = await madeRun((step) => ({ uri: `file:///w/${step}`, sha256: String(step).padStart(64, '0'), format: 'hf-safetensors' }));
    expect(await replayed(rig)).toMatchObject({ steps: 5, differing: 0 });
    const differing = async (): Promise<readonly string[]> =>
      (await replayed(rig)).told.flatMap(({ step, differences }) => differences.map(({ field, rebuilt }) => `${step} ${field} ${rebuilt}`));
    const policy = { topic: 'policies', type: 'PolicyPublished' } as const;
    edit(rig, policy, ({ version }) => (version === 2 ? { sha256: 'f'.repeat(64) } : undefined));
    expect(await differing()).toEqual([`2 weights_sha256 ${'f'.repeat(64)}`]);
    edit(rig, policy, ({ version }) => (version === 4 ? { parent: 0 } : undefined));
    expect(await differing()).toEqual([`2 weights_sha256 ${'f'.repeat(64)}`, '4 parent 0']);
    edit(rig, policy, ({ version }) => (version === 5 ? { version: 55 } : undefined));
    expect(await differing()).toContain('5 weights_sha256 ');
  });
});

/** Changes the first record of a type for which `change` returns fields. */
function edit<T extends 'TurnRecorded' | 'PolicyPublished'>(
  { log }: Rig,
  { topic, type }: { readonly topic: 'rollouts' | 'policies'; readonly type: T },
  change: (event: EventByType[T]) => Partial<EventByType[T]> | undefined,
): void {
  for (const { slots } of log.partitionsOf(topic)) {
    for (const [at, slot] of slots.entries()) {
      const read = slot.visible && slot.record.value !== null ? log.codec.decode(slot.record.value) : undefined;
      if (!slot.visible || read?.ok !== true || read.value.type !== type) continue;
      const event = read.value.event as unknown as EventByType[T];
      const changed = change(event);
      if (changed === undefined) continue;
      slots[at] = { visible: true, record: { ...slot.record, value: log.codec.encode(type, { ...event, ...changed }) } };
      return;
    }
  }
  throw new Error(`there is no ${type} to change`);
}
