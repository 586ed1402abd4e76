import { afterEach, describe, expect, it } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { followEvents, stopFollowing } from '../../infra/testing/follow-events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { rewarded } from '../../infra/testing/rollout-events.ts';
import type { EventByType } from '../../schemas/generated/events.ts';
import { eventsOf } from '../../streams/core/read-log.ts';
import type { LedgerType } from '../../streams/ledger/chain.ts';
import { depsOf, madeRun, never, replayed, settings, setUpReplay, worker } from './replay.testing.ts';
import { runTrainer } from './trainer.ts';

setUpReplay();

afterEach(stopFollowing);

const valueOf = (trajectory: string): number => Number(trajectory.split('.').at(-1)) / 4;

/** Attaches a reward to every finished attempt, except those that it forgets. */
async function reviewer(log: MemoryLog, forgets: (trajectory: string) => boolean): Promise<void> {
  await followEvents(
    log,
    { topic: 'rollouts', type: 'TrajectoryFinished' },
    async ({ trajectory_id: trajectory, attempt, group_id: key }) => {
      if (forgets(trajectory)) return;
      const event = rewarded({ trajectory, attempt }, valueOf(trajectory));
      await log.writer().append([event, event].map((one) => ({ type: 'RewardAttached', key, event: one })));
    },
  );
}

async function ledgerOf<T extends LedgerType>(log: MemoryLog, type: T): Promise<readonly EventByType[T][]> {
  const found: EventByType[T][] = [];
  for await (const read of eventsOf({ log: log.reader(), events: codecReader(log.codec) }, 'training')) {
    if (read.ok && read.value.type === type) found.push(read.value.event as EventByType[T]);
  }
  return found;
}

describe('a run that waits for attached rewards', { timeout: 60_000 }, () => {
  it('trains on them, gives up attempts without them, and can be replayed whatever arrives late', async () => {
    const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 }, batchRecords: 7 });
    await worker(log, () => false);
    await reviewer(log, (trajectory) => trajectory === 'run-a-g000001.2');
    await runTrainer(depsOf(log, { settings: { ...settings, rewardNames: 'human', rewardTimeoutMs: 300 } }), never);

    const steps = await ledgerOf(log, 'StepCompleted');
    expect(steps).toHaveLength(4);
    for (const { trajectory_id: id, reward } of steps.flatMap(({ trajectories }) => trajectories)) {
      const recorded = Number(id.split('.').at(-1)) % 2 === 0 ? 0.25 : 1;
      expect(reward).toBe(recorded + valueOf(id));
    }
    expect((await ledgerOf(log, 'TrajectoryExpired')).map(({ trajectory_id: id, reason }) => [id, reason])).toEqual([
      ['run-a-g000001.2', 'reward_timeout'],
    ]);
    expect((await ledgerOf(log, 'TrajectoryDiscarded')).map(({ trajectory_id: id, reason, tokens }) => [id, reason, tokens])).toEqual([
      ['run-a-g000001.2', 'incomplete', 10],
    ]);
    const counted = await ledgerOf(log, 'RewardsCounted');
    expect(counted.map(({ names }) => names)).toEqual(steps.map(() => ['human']));
    expect(counted.flatMap(({ groups }) => groups)).toHaveLength(8);

    const late = steps.flatMap(({ trajectories }) => trajectories).map(({ trajectory_id: trajectory }) => trajectory);
    for (const trajectory of late) {
      const event = rewarded({ trajectory }, 9, { identifier: 'late' });
      await log.writer().append([{ type: 'RewardAttached', key: event.group_id, event }]);
    }
    for (const fromStart of [false, true]) {
      const { steps: again, differing } = await replayed(log, {}, { fromStart });
      expect([again.length, differing, again.flatMap(({ differences }) => differences)]).toEqual([4, 0, []]);
    }
  });

  it('records no rewards and no settings of them where none were attached', async () => {
    const log = await madeRun();
    expect(await ledgerOf(log, 'RewardsCounted')).toEqual([]);
    const [started] = await ledgerOf(log, 'RunStarted');
    expect(started?.settings).not.toMatch(/reward(Names|Timeout)/);
  });
});
