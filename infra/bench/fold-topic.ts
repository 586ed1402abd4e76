// Writes the topic that the fold bench reads, and counts independently of the fold which groups become ready in it.
import { createLoad, groupRequests, type LoadOptions } from '../../producers/load/load.ts';
import { defaultShape } from '../../producers/load/shape.ts';
import { writeLoad } from '../../producers/load/write-load.ts';
import type { TrajectoryFinished, TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { pause } from '../lifecycle/waiting.ts';
import type { BenchSite } from './local-bench.ts';

export interface FoldTopic {
  readonly namespace: string;
  readonly runId: string;
  readonly turnBytes: number;
  readonly records: number;
  readonly groups: number;
  readonly readyGroups: number;
}

const START_MS = 1_700_000_000_000;

const optionsFor = (topic: Pick<FoldTopic, 'runId' | 'turnBytes'>): Omit<LoadOptions, 'turns'> => ({
  runId: topic.runId,
  purpose: 'train',
  seed: 1,
  producer: 'load/1',
  startMs: START_MS,
  shape: { ...defaultShape, turnBytes: topic.turnBytes },
  trajectories: Infinity,
  open: 0,
  places: 512,
});

/** The requests of a group of the topic, as known to the trainer that admitted it. */
export const requestsOf = (topic: FoldTopic, index: number): readonly TrajectoryRequested[] =>
  groupRequests(optionsFor(topic), { index, atMs: START_MS, version: 0 });

/** Fraction of the records that are turns; the rest are starts and ends. */
const TURNS_OF_RECORDS = 0.79;

export async function prepareFoldTopic(
  site: BenchSite,
  size: { readonly turnBytes: number; readonly records: number },
): Promise<FoldTopic> {
  const { turnBytes } = size;
  const [namespace, runId] = [`fold-${turnBytes}`, `fold-${turnBytes}`];
  // plain kafkajs, which reads the same topic, does not support LZ4
  const connection = await site.connect(namespace, { kafkaCompression: 'none' });
  const load = createLoad({ ...optionsFor({ runId, turnBytes }), turns: Math.round(size.records * TURNS_OF_RECORDS) });
  const tally = createTally();
  const writer = await connection.writer();
  // without requests: the fold learns of them as in a live trainer, from its own commits
  const rollouts = {
    next(): OutgoingEvent | undefined {
      for (let event = load.next(); event !== undefined; event = load.next()) {
        tally.note(event);
        if (event.type !== 'TrajectoryRequested') return event;
      }
      return undefined;
    },
  };
  const now = (): number => performance.now();
  await writeLoad({ load: rollouts, writer, rate: 0, signal: site.signal, now, pause });
  site.signal.throwIfAborted();
  await connection.close();
  return { namespace, runId, turnBytes, ...tally.result() };
}

const COUNTING = ['answered', 'max_turns', 'max_tokens', 'timeout'];

/** A group is ready when each of its trajectories has a complete attempt whose end counts. */
function createTally() {
  const seen = new Map<string, Set<number>>();
  const whole = new Map<string, Set<string>>();
  const groups = new Set<string>();
  let records = 0;
  let ready = 0;
  function finished(event: TrajectoryFinished): void {
    const trajectories = (whole.get(event.group_id) ?? new Set()).add(event.trajectory_id);
    whole.set(event.group_id, trajectories);
    if (trajectories.size < defaultShape.groupSize) return;
    ready += 1;
    whole.delete(event.group_id);
  }
  return {
    note({ type, event }: OutgoingEvent): void {
      if (type === 'TrajectoryRequested') groups.add(event.group_id);
      if (type !== 'TrajectoryStarted' && type !== 'TurnRecorded' && type !== 'TrajectoryFinished') return;
      records += 1;
      const id = `${event.trajectory_id}/${event.attempt}`;
      const sequences = (seen.get(id) ?? new Set()).add(event.sequence);
      seen.set(id, sequences);
      if (type !== 'TrajectoryFinished') return;
      seen.delete(id);
      if (sequences.size === event.sequence + 1 && COUNTING.includes(event.status)) finished(event);
    },
    result: () => ({ records, groups: groups.size, readyGroups: ready }),
  };
}
