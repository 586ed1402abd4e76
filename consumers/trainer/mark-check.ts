// Checks, as `rollouts` is read further, that the log still holds what was folded. After a start, the mark of each partition (its last
// folded record) must appear unchanged; later, a mark is looked up when the leader of its partition has changed.
import type { LogBatch, LogReader } from '../../streams/core/ports.ts';
import type { RecordMark, RunState } from '../../streams/run/run-state.ts';
import { cutError, isStillThere } from './cut-log.ts';

export interface MarkCheck {
  /** Offset of the mark that must appear in the partition, if the log still has it. */
  awaited(partition: number, first: number): number | undefined;
  /** Throws LOG_CUT when the batch does not follow the folded records. */
  assertFollows(batch: LogBatch): Promise<void> | void;
}

export function createMarkCheck(log: LogReader, { rolloutMarks }: Pick<RunState, 'rolloutMarks'>): MarkCheck {
  const expected = new Map(rolloutMarks);

  async function lookUp(partition: number, mark: RecordMark): Promise<void> {
    if (!(await isStillThere(log, { partition, mark }))) throw cutError('rollouts', partition, mark.offset + 1);
  }

  return {
    awaited(partition, first) {
      const mark = expected.get(partition);
      if (mark === undefined || mark.offset >= first) return mark?.offset;
      expected.delete(partition);
      return undefined;
    },
    assertFollows({ partition, records, nextOffset }) {
      const awaited = expected.get(partition);
      if (awaited !== undefined) {
        if (nextOffset <= awaited.offset) return;
        expected.delete(partition);
        if (records.some((record) => isSame(record, awaited))) return;
        return lookUp(partition, awaited);
      }
      const [mark, first] = [rolloutMarks.get(partition), records[0]];
      if (mark === undefined || first?.leaderEpoch === undefined || first.leaderEpoch === mark.leaderEpoch) return;
      return lookUp(partition, mark);
    },
  };
}

const isSame = (record: LogBatch['records'][number], { offset, leaderEpoch }: RecordMark): boolean =>
  record.offset === offset && record.leaderEpoch === leaderEpoch;
