import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { requested, started } from '../../infra/testing/rollout-events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import type { TransactionalWriter } from '../../streams/core/ports.ts';
import { foldRollout, foldTask } from '../../streams/run/fold.ts';
import { newRunState } from '../../streams/run/run-state.ts';
import { placeWorkers } from './task-start.ts';

const GROUP = 'memory.workers.run-a';
const here = (offset: number) => ({ partition: 0, offset });

/** The fate of a claimed task: started, lost with its worker before the start, given up, in a closed group, or for another purpose. */
type ClaimFate = 'started' | 'lost' | 'given-up' | 'closed' | 'other-purpose';
const claims: fc.Arbitrary<ClaimFate> = fc.constantFrom('started', 'lost', 'given-up', 'closed', 'other-purpose');

async function worldOf(claimed: readonly ClaimFate[], unclaimed: number) {
  const log = new MemoryLog({ partitions: { tasks: 1, rollouts: 1 } });
  const state = newRunState('run-a');
  const ask = async (trajectory: string, attempt: number, purpose: string): Promise<number> => {
    const event = requested({ trajectory, attempt }, { purpose });
    const [place] = await log.writer().append([{ type: 'TrajectoryRequested', key: trajectory, event }]);
    foldTask(state, event, here(place!.offset));
    return place!.offset;
  };
  const [taken, open]: [number[], number[]] = [[], []];
  for (const [index, fate] of claimed.entries()) {
    const offset = await ask(`g${index}.0`, 0, fate === 'other-purpose' ? 'eval' : 'train');
    if (fate !== 'lost') taken.push(offset);
    if (fate === 'started') {
      foldRollout(
        state,
        { type: 'TrajectoryStarted', event: started({ trajectory: `g${index}.0`, attempt: 0, sequence: 0 }) },
        here(index),
      );
    }
    if (fate === 'closed') state.groups.delete(`g${index}`);
  }
  for (const [index, fate] of claimed.entries()) if (fate === 'given-up') open.push(await ask(`g${index}.0`, 1, 'train'));
  for (let index = 0; index < unclaimed; index += 1) open.push(await ask(`u${index}.0`, 0, 'train'));
  return { log, state, taken, open };
}

const place = async ({ log, state }: Awaited<ReturnType<typeof worldOf>>, placed = new Set<number>()): Promise<void> => {
  const writer = await log.transactional('memory.trainer.run-a');
  const deps = { state, log: log.reader(), events: codecReader(log.codec), writer, groups: { workers: GROUP } };
  await placeWorkers(deps, await log.offsets.fetch(GROUP, 'tasks'), placed);
};

describe('the start offset of the consumer group of the workers', () => {
  it('is after all tasks that were started or whose group is closed, and before all unclaimed tasks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(claims, { maxLength: 12 }), fc.nat(6), async (claimed, unclaimed) => {
        const world = await worldOf(claimed, unclaimed);
        await place(world);
        const start = world.log.groupOf(GROUP).committed('tasks', 0)!.offset;
        expect(world.taken.filter((offset) => offset >= start)).toEqual([]);
        expect(world.open.filter((offset) => offset < start)).toEqual([]);
      }),
    );
  });

  it('is the end of the tasks for a run without requests', async () => {
    const world = await worldOf([], 0);
    await place(world);
    expect(world.log.groupOf(GROUP).committed('tasks', 0)?.offset).toBe(0);
  });

  it('is not moved by tasks that the workers of the run do not take', async () => {
    const world = await worldOf(['started'], 3);
    const event = requested({ trajectory: 'e-1-q0.0' }, { purpose: 'eval', addressee: 'e-1' });
    await world.log.writer().append([{ type: 'TrajectoryRequested', key: 'e-1-q0.0', event }]);
    await place(world);
    expect(world.log.groupOf(GROUP).committed('tasks', 0)?.offset).toBe(1);
  });

  it('is not changed if the group has one', async () => {
    const world = await worldOf(['started'], 3);
    world.log.setOffsets(GROUP, [{ topic: 'tasks', ...here(2) }]);
    await place(world);
    expect(world.log.groupOf(GROUP).committed('tasks', 0)?.offset).toBe(2);
  });

  it('is committed once, even if Kafka does not return the committed offset at once', async () => {
    const world = await worldOf([], 3);
    const commits: unknown[] = [];
    const writer: TransactionalWriter = {
      commit: async (work) => {
        commits.push(work);
        return [];
      },
      close: async () => undefined,
    };
    const placed = new Set<number>();
    const deps = { state: world.state, log: world.log.reader(), events: codecReader(world.log.codec), writer, groups: { workers: GROUP } };
    for (let look = 0; look < 3; look += 1) await placeWorkers(deps, [{ partition: 0, offset: -1, metadata: '' }], placed);
    expect(commits).toEqual([{ events: [], offsets: { group: GROUP, positions: [{ topic: 'tasks', ...here(0) }] } }]);
  });
});
