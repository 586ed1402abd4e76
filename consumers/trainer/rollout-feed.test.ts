import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { outgoing } from '../../infra/testing/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { finished, requested, started, turn } from '../../infra/testing/rollout-events.ts';
import type { EventDecoder, OutgoingEvent } from '../../streams/core/ports.ts';
import { noMetrics } from '../../streams/core/telemetry.ts';
import { deferred } from '../../streams/core/waiting.ts';
import { foldTask } from '../../streams/run/fold.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { foldRollouts } from './recovery-world.testing.ts';
import { createRolloutFeed } from './rollout-feed.ts';

const codec = createCodec();
const GROUPS = ['g', 'h', 'i'];
const trajectories = GROUPS.flatMap((group) => [`${group}.0`, `${group}.1`]);
const unknown = 'closed.0';

/** The groups are admitted. */
function admitted(): RunState {
  const state = newRunState('run-a');
  trajectories.forEach((trajectory, offset) => {
    foldTask(state, requested({ trajectory }), { partition: 0, offset });
  });
  return state;
}

/** The record of an attempt with this sequence number: its start, two turns, and its end. */
function recordOf(trajectory: string, sequence: number): OutgoingEvent {
  const place = { trajectory, sequence };
  if (sequence === 0) return outgoing('TrajectoryStarted', started(place));
  if (sequence === 3) return outgoing('TrajectoryFinished', finished(place, 1));
  return outgoing('TurnRecorded', turn(place, sequence));
}

interface Followed {
  readonly state: RunState;
  /** Resolves when the whole log has been folded. */
  readonly live: Promise<void>;
  readonly close: () => Promise<void>;
}

async function follow(log: MemoryLog, rollouts: EventDecoder = codecReader(log.codec)): Promise<Followed> {
  const state = admitted();
  const live = deferred();
  const feed = createRolloutFeed({
    state,
    log: log.reader(),
    rollouts,
    signs: {
      heard: () => undefined,
      live: () => {
        live.resolve();
      },
    },
    metrics: noMetrics,
    onFolded: () => undefined,
    onError: live.reject,
  });
  await feed.start();
  return { state, live: live.promise, close: () => feed.close() };
}

/** The state after folding the records one by one, in the order of the log. */
async function oneByOne(log: MemoryLog): Promise<RunState> {
  const state = admitted();
  for (const { partition, first } of await log.reader().bounds('rollouts')) state.rolloutPositions.set(partition, first);
  await foldRollouts({ log, events: codecReader(log.codec) }, state);
  return state;
}

describe('the trainer, following rollouts', () => {
  it('folds batches group by group to the same state as records one by one', async () => {
    const record = fc.tuple(fc.constantFrom(...trajectories, unknown), fc.nat(3));
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 60 }), async (records) => {
        const log = new MemoryLog({ codec, partitions: { rollouts: 2 } });
        await log.writer().append(records.map(([trajectory, sequence]) => recordOf(trajectory, sequence)));
        const { state, live, close } = await follow(log);
        await live;
        await close();
        expect(state).toEqual(await oneByOne(log));
      }),
      { numRuns: 100 },
    );
  });

  it('has folded nothing of a batch while a schema is looked up, and then all of it', async () => {
    const log = new MemoryLog({ codec, partitions: { rollouts: 1 } });
    await log.writer().append([0, 1, 2, 3].flatMap((sequence) => trajectories.map((trajectory) => recordOf(trajectory, sequence))));
    const [asked, answered] = [deferred(), deferred()];
    const rollouts: EventDecoder = {
      ...codecReader(log.codec),
      lookUp({ offset }) {
        if (offset !== 9) return undefined;
        asked.resolve();
        return answered.promise;
      },
    };
    const { state, live, close } = await follow(log, rollouts);
    await asked.promise;
    expect(state).toEqual({ ...admitted(), rolloutPositions: new Map([[0, 0]]) });
    answered.resolve();
    await live;
    await close();
    expect([...state.decided].sort()).toEqual(GROUPS);
    expect(state).toEqual(await oneByOne(log));
  });
});
