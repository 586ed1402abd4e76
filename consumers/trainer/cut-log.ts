// Detects a log that lost its newest records although they were acknowledged, after a power loss or an unclean election. Records that the
// trainer has folded are then no longer in the log, and others take their offsets. A trainer that did not notice would continue after them.
//
// There are two signs. A partition ends before the position that was read; or it has grown past that position again, and the last folded
// record, the mark of the partition, has changed or is gone. Every such loss is followed by a leader change, so the mark is compared only
// after a leader change (like leader epochs in KIP-320).
import { PlatformError } from '../../streams/core/errors.ts';
import type { GroupOffsets, LogReader } from '../../streams/core/ports.ts';
import { batchesOf } from '../../streams/core/read-log.ts';
import type { RecordMark } from '../../streams/run/run-state.ts';

type CutTopic = 'rollouts' | 'tasks';
type LogBounds = Awaited<ReturnType<LogReader['bounds']>>;

export interface MarkedPartition {
  readonly partition: number;
  readonly mark: RecordMark;
}

/** Whether `rollouts` still holds the record of the mark, as far as retention allows an answer. */
export async function isStillThere(log: LogReader, { partition, mark }: MarkedPartition, bounds?: LogBounds): Promise<boolean> {
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
  /** The bounds of a topic, as the log reports them. */
  bounds(topic: CutTopic): Promise<LogBounds>;
}

/**
 * Checks every reported end of a topic. A newly elected leader may report a slightly old end, so a partition counts as cut only after two
 * consecutive reports.
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
export const textOfMark = ({ offset, leaderEpoch }: RecordMark): string => `mark ${offset} ${leaderEpoch}`;

/** The marks that the newest step of a trainer's group committed, by partition; earlier releases committed none. */
export async function committedMarks(offsets: GroupOffsets, group: string): Promise<ReadonlyMap<number, RecordMark>> {
  const marks = new Map<number, RecordMark>();
  for (const { partition, metadata } of await offsets.fetch(group, 'rollouts')) {
    const [, offset, leaderEpoch] = MARK.exec(metadata) ?? [];
    if (offset !== undefined) marks.set(partition, { offset: Number(offset), leaderEpoch: Number(leaderEpoch) });
  }
  return marks;
}
