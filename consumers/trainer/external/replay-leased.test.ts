import { afterEach, describe, expect, it, vi } from 'vitest';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { stopFollowing } from '../../../infra/testing/follow-events.ts';
import { newRig, scriptedWorker, type Rig } from '../../../infra/testing/trainer-rig.ts';
import { createCodec } from '../../../schemas/codec.ts';
import { rolloutView } from '../../../streams/run/rollout-view.ts';
import { replayRun, type ReplayTotal, type StepReplay } from '../replay.ts';
import { runTrainer } from '../trainer.ts';
import { createCoordinator } from './coordinator.ts';
import { createDesk } from './desk.ts';
import { createLogRows } from './log-rows.ts';

afterEach(stopFollowing);

/** Trains five steps with an external trainer. */
async function madeRun(): Promise<Rig> {
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
    ({ lineage } = await coordinator.commit(id, { epoch, batch_sha256, policy: null, metrics: {} }));
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

    const [partition] = rig.log.partitionsOf('rollouts');
    const slots = partition!.slots;
    const at = slots.findIndex((slot) => slot.visible && isTurn(rig, slot.record.value!));
    const slot = slots[at]!;
    const read = slot.visible ? rig.log.codec.decode(slot.record.value!) : undefined;
    if (!slot.visible || read?.ok !== true || read.value.type !== 'TurnRecorded') throw new Error('there is no turn');
    const value = rig.log.codec.encode('TurnRecorded', { ...read.value.event, logprobs_kind: 'raw' });
    slots[at] = { visible: true, record: { ...slot.record, value } };
    const changed = await replayed(rig);
    expect(changed.differing).toBe(1);
    expect(changed.told.flatMap(({ differences }) => differences.map(({ field }) => field))).toEqual(['batch_sha256']);
  });
});

function isTurn({ log }: Rig, value: Buffer): boolean {
  const read = log.codec.decode(value);
  return read.ok && read.value.type === 'TurnRecorded';
}
