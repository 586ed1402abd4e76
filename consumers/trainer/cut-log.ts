// A log that lost its newest records, although they were acknowledged: a power loss, or an unclean election. What was folded
// of them is no longer in the log, and others take their offsets. A trainer that noticed nothing would go on behind them.
//
// Two things give it away. A partition ends before the position that was read up to; or it has grown past it since, and the
// record that was folded last, the mark of the partition, is another one now or is gone. A new leader follows every such
// loss, so the mark is compared only when the leader has changed (as KIP-320 does with the epochs of leaders).
import { PlatformError } from '../../streams/core/errors.ts';
import type { GroupOffsets, LogReader } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import type { Mark } from '../../streams/run/run-state.ts';

type CutTopic = 'rollouts' | 'tasks';
type Bounds = Awaited<ReturnType<LogReader['bounds']>>;

export interface MarkedPartition {
  readonly partition: number;
  readonly mark: Mark;
}

/** Whether `rollouts` still holds the record of the mark, as far as retention lets anybody know. */
export async function isStillThere(log: LogReader, { partition, mark }: MarkedPartition, bounds?: Bounds): Promise<boolean> {
  const { offset, leaderEpoch } = mark;
  const own = (bounds ?? (await log.bounds('rollouts'))).find((one) => one.partition === partition);
  if (own === undefined || own.end <= offset) return false;
  if (own.first > offset) return true;
  const range = { from: new Map([[partition, offset]]), to: new Map([[partition, offset + 1]]) };
  for await (const { records } of batchesOf(log, 'rollouts', range)) {
    if (records.some((record) => record.offset === offset && record.leaderEpoch === leaderEpoch)) return true;
  }
  return false;
}

export const cutError = (topic: CutTopic, partition: number, position: number): PlatformError =>
  new PlatformError('LOG_CUT', `reading ${topic}/${partition}: records before offset ${position} that this trainer has read are gone`);

export interface CutWatch {
  /** The bounds of a topic as the log tells them. */
  bounds(topic: CutTopic): Promise<Bounds>;
}

/**
 * Looks at every answer about where a topic ends. A leader that has just been elected may tell an end that is a moment old,
 * so a partition is told as cut when two answers in a row say so.
 */
export function watchForCuts(
  log: Pick<LogReader, 'bounds'>,
  positions: Readonly<Record<CutTopic, ReadonlyMap<number, number>>>,
  onCut: (error: PlatformError) => void,
): CutWatch {
  const suspects: Record<CutTopic, ReadonlySet<number>> = { rollouts: new Set(), tasks: new Set() };
  return {
    async bounds(topic) {
      const before = new Map(positions[topic]);
      const bounds = await log.bounds(topic);
      const short = bounds.filter(({ partition, end }) => end < (before.get(partition) ?? 0)).map(({ partition }) => partition);
      const again = short.find((partition) => suspects[topic].has(partition));
      suspects[topic] = new Set(short);
      if (again !== undefined) onCut(cutError(topic, again, before.get(again) ?? 0));
      return bounds;
    },
  };
}

const MARK = /^mark (\d+) (\d+)$/;

/** A mark as the metadata of a committed offset. */
export const textOfMark = ({ offset, leaderEpoch }: Mark): string => `mark ${offset} ${leaderEpoch}`;

/** What the newest step of a trainer's group committed, by partition; earlier versions committed none. */
export async function committedMarks(offsets: GroupOffsets, group: string): Promise<ReadonlyMap<number, Mark>> {
  const marks = new Map<number, Mark>();
  for (const { partition, metadata } of await offsets.fetch(group, 'rollouts')) {
    const [, offset, leaderEpoch] = MARK.exec(metadata) ?? [];
    if (offset !== undefined) marks.set(partition, { offset: Number(offset), leaderEpoch: Number(leaderEpoch) });
  }
  return marks;
}
