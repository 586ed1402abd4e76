import { afterEach, expect, it, vi } from 'vitest';
import { stopFollowing } from '../../../infra/testing/follow-events.ts';
import { newRig, scriptedWorker } from '../../../infra/testing/trainer-rig.ts';
import { deferred } from '../../../streams/core/waiting.ts';
import type { BatchRows } from '../../../streams/leases/batch-rows.ts';
import { runTrainer } from '../trainer.ts';
import { createCoordinator } from './coordinator.ts';
import { createDesk } from './desk.ts';
import { createLogRows } from './log-rows.ts';

afterEach(stopFollowing);

it('reads the rows of a batch while other calls are served', async () => {
  const rig = newRig();
  await scriptedWorker(rig);
  const [began, gate, stopping] = [deferred(), deferred(), new AbortController()];
  const made = createLogRows({ log: rig.log.reader(), events: rig.events });
  const readRows: BatchRows['measure'] = async (...of) => {
    began.resolve();
    await gate.promise;
    return made.measure(...of);
  };
  const [desk, rows] = [createDesk(), { ...made, measure: readRows }];
  const external = { desk, rows, leaseMs: 60_000, prefetch: 1, lingerMs: 0 };
  const ended = runTrainer(rig.deps({ learner: undefined, external }), stopping.signal);
  const coordinator = createCoordinator({ runId: 'run-a', desk, rows, findLease: async () => undefined });
  const lease = (epoch: number, lineage: string) =>
    coordinator.lease('run-a', { epoch, lineage, wait_ms: 8_000 }, new AbortController().signal);

  const { lineage } = await vi.waitFor(() => coordinator.claim('run-a', { trainer_id: 't' }), { timeout: 10_000, interval: 20 });
  const waiting = lease(1, lineage);
  waiting.catch(() => undefined);
  await began.promise;
  expect(await coordinator.claim('run-a', { trainer_id: 't', lineage })).toMatchObject({ epoch: 2 });
  await expect(waiting).rejects.toMatchObject({ code: 'FENCED' });
  gate.resolve();
  expect(await lease(2, lineage)).toMatchObject({ step: 1, rows: 8 });
  stopping.abort();
  await ended;
});
