import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../../../streams/core/ports.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { readFactsAfter, type RemovedRecords } from './facts.ts';

const RUN = 'run-a';
const random = seeded(3);

async function taskLog(records: number): Promise<{ readonly log: MemoryLog; readonly all: readonly LogRecord[] }> {
  const log = new MemoryLog({ partitions: { tasks: 1 } });
  const events = Array.from({ length: records }, () => ({ ...randomEvent('TrajectoryRequested', random), run_id: RUN, purpose: 'train' }));
  await log.writer().append(events.map((event) => ({ type: 'TrajectoryRequested', key: event.group_id, event }) as const));
  const all: LogRecord[] = [];
  await log.reader().readToEnd('tasks', { onBatch: (batch) => void all.push(...batch.records) });
  return { log, all };
}

const deleted = (records: readonly LogRecord[]): RemovedRecords => ({
  ...{ how: 'deleted', topic: 'tasks', ledgerEnd: 0 },
  parts: [{ partition: 0, from: 0, to: records.length, records }],
});

describe('the expected contents of the tables', () => {
  it('contain a deleted record once, even if a killed broker restored it and it was deleted again', async () => {
    const { log, all } = await taskLog(6);
    log.deleteBefore('tasks', 0, 2);
    const taken = [deleted(all.slice(0, 4)), deleted(all.slice(0, 3))];
    const { contents, facts } = await readFactsAfter(log.reader(), log.codec, { runId: RUN, taken });
    const offsets = (contents.get('tasks') ?? []).map(({ offset }) => offset).sort();
    expect(offsets).toEqual([0, 1, 2, 3, 4, 5]);
    expect(facts.gone.map(({ tasks }) => tasks.length)).toEqual([4, 3]);
  });

  it('do not contain truncated records, because another record may have their offset', async () => {
    const { log, all } = await taskLog(3);
    log.deleteBefore('tasks', 0, 3);
    const { contents } = await readFactsAfter(log.reader(), log.codec, { runId: RUN, taken: [{ ...deleted(all), how: 'cut' }] });
    expect(contents.get('tasks')).toEqual([]);
  });
});
