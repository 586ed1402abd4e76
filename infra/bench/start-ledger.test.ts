// The long ledger of the start bench, scaled down: a restart keeps only what lies after its resume point.
import { expect, it } from 'vitest';
import { createLedgerWriter } from '../../consumers/trainer/ledger-writer.ts';
import { recoverRun } from '../../consumers/trainer/recover.ts';
import { emptyChain } from '../../streams/ledger/chain.ts';
import { codecReader } from '../testing/codec-reader.ts';
import { randomEvent, seeded } from '../testing/events.ts';
import { MemoryLog } from '../testing/memory-log.ts';
import { readBegun, writeForeign, writeSteps } from './start-ledger.ts';

it('verifies and counts a long ledger to its end, and keeps only what the newest resume point needs', async () => {
  const log = new MemoryLog();
  const events = codecReader(log.codec);
  await writeForeign(log.writer(), 100);
  const { sequence: _, previous_sha256: __, ...started } = randomEvent('RunStarted', seeded(1));
  const run = 'long';
  const ledger = createLedgerWriter({ runId: run, producer: 't', codec: log.codec, now: () => 1 }, emptyChain);
  ledger.add('RunStarted', { ...started, ...{ run_id: run, event_id: `${run}/0` } });
  await log.writer().append(ledger.events());
  const policy = { ...randomEvent('PolicyPublished', seeded(2)), run_id: run, version: 0 };
  await log.writer().append([{ type: 'PolicyPublished', key: run, event: policy }]);

  const length = { steps: 200, groups: 8, samples: 4 };
  await writeSteps(log.writer(), await readBegun(log.reader(), events, run), length);
  const { state } = await recoverRun({ runId: run, log: log.reader(), events });
  expect(state.version).toBe(length.steps);
  expect(state.counters).toMatchObject({
    admittedGroups: 1_600,
    trainedGroups: 1_600,
    trainedTrajectories: 6_400,
    closedTrajectories: 6_400,
  });
  expect([state.closed.size, state.admitted.size]).toEqual([length.groups, 0]);
});
