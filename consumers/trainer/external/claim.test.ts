import { expect, it } from 'vitest';
import type { ClaimAnswer, LeaseAnswer } from '../../../streams/leases/coordinator.ts';
import type { Job } from '../deps.ts';
import { claimJob } from './claim.ts';
import { extendJob, leaseJob } from './lease.ts';
import { answered, LEASE_MS, listen, makeReady, newModelWorld } from './model-world.testing.ts';

it('a claim that keeps a leased batch gives its lease the full duration again', async () => {
  const world = await newModelWorld();
  await makeReady(world);
  const { epoch, lineage } = await answered<ClaimAnswer>(world, claimJob({ trainer_id: 't' }));
  const { batch_id: batchId } = await answered(world, leaseJob({ epoch, lineage }) as Job<LeaseAnswer>);
  const deadlineMs = world.nowMs + LEASE_MS;
  world.nowMs = deadlineMs - LEASE_MS / 2;
  await listen(world);
  world.nowMs = deadlineMs - 10;
  const prepared = { batch_id: batchId, weights_sha256: '' };
  const successor = await answered<ClaimAnswer>(world, claimJob({ trainer_id: 't', lineage, prepared }));
  world.nowMs = deadlineMs + 10;
  await listen(world);
  await answered(world, extendJob({ batchId, epoch: successor.epoch }));
  expect(world.life.state.leases.out.map(({ batch_id: id }) => id)).toEqual([batchId]);
});
