import { expect, it } from 'vitest';
import { stepsOf, watchPoints } from '../../../infra/testing/reached.ts';
import type { ClaimAnswer, LeaseAnswer } from '../../../streams/leases/coordinator.ts';
import type { Job } from '../deps.ts';
import { claimJob } from './claim.ts';
import { commitJob } from './commit.ts';
import { leaseJob, releaseJob } from './lease.ts';
import { answered, makeReady, newModelWorld } from './model-world.testing.ts';
import { publishJob } from './publish.ts';

it('a coordinator has a crash point before and after each of its transactions', async () => {
  const world = await newModelWorld();
  await makeReady(world);
  const watched = watchPoints();
  const { committer } = world.life;
  world.life = {
    ...world.life,
    reach: (point) => {
      if (point.startsWith('coordinator.')) watched.reach(point);
    },
    committer: {
      ...committer,
      append(entries, publication) {
        watched.effect(entries.map(({ type }) => type).join(' '));
        return committer.append(entries, publication);
      },
      step(trained, plan) {
        watched.effect('StepCompleted');
        return committer.step(trained, plan);
      },
    },
  };
  const { epoch, lineage } = await answered<ClaimAnswer>(world, claimJob({ trainer_id: 't' }));
  const lease = (): Promise<LeaseAnswer> => answered(world, leaseJob({ epoch, lineage }) as Job<LeaseAnswer>);
  await answered(world, releaseJob({ batchId: (await lease()).batch_id, epoch }));
  const { batch_id: id, batch_sha256 } = await lease();
  await answered(world, commitJob(id, { epoch, batch_sha256, policy: null, metrics: {} }));
  await answered(world, publishJob({ version: 1, uri: 's3://w', sha256: '1'.padStart(64, '0'), format: 'gguf' }));
  await answered(world, claimJob({ trainer_id: 't', lineage, rewind: { to_version: 0 } }));
  expect(watched.effects).toEqual([
    ['coordinator.claim', 'TrainerClaimed'],
    ['coordinator.lease', 'BatchLeased'],
    ['coordinator.release', 'BatchReleased'],
    ['coordinator.lease', 'BatchLeased'],
    ['coordinator.commit', 'StepCompleted'],
    ['coordinator.publish', 'WeightsNamed'],
    ['coordinator.rewind', 'TrainerClaimed RunRewound'],
  ]);
  const steps = watched.effects.map(([step]) => step);
  expect(watched.points).toEqual(steps.flatMap((step) => [`${step}.before`, `${step}.after`]));
  expect([...new Set(steps)].sort()).toEqual([...stepsOf('coordinator')].sort());
});
