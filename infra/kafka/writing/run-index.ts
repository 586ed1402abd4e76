// Where each run begins, stored in a compacted topic: the key of a record is the run, its value a lower bound of the offsets of everything
// that the run wrote to `training`, `policies`, `rollouts` and `tasks`. A run is added before its first entry is written, so that a run
// that is missing from a complete index has not begun, however much others wrote.
//
// - A bound that is too low only costs time. A bound that is too high cannot occur: the ends of the log are read before the check whether
// the run exists, and whoever adds the run later does so before it writes.
// - A record marks the index as complete. It is written when the topics are created. If the topics are older, the first process that needs
// the index scans the headers of `training` once and then writes it.
// - Only speed depends on the index: when the topic is deleted, the next start scans `training` again. A bound beyond the end of a
// recreated `training` is ignored (consumers/trainer/find-ledger.ts).
import type { LogReader, LogRecord, RunIndex, RunStart } from '../../../streams/core/ports.ts';
import { batchesOf, runOf } from '../../../streams/core/read-log.ts';
import type { RawRecord } from '../records/message.ts';

/** Not a valid run slug. */
const COMPLETE_KEY = '*';

/** Marks the index of topics without entries as complete. */
export const COMPLETE_RECORD = { key: COMPLETE_KEY, value: Buffer.from('{"complete":true}') } as const;

export interface RunIndexOptions {
  /** The topic of the index. */
  readonly topic: {
    append(records: readonly RawRecord[]): Promise<unknown>;
    readToEnd(options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
  };
  readonly log: Pick<LogReader, 'readToEnd'>;
}

/** The index with all its runs. */
export interface WholeRunIndex extends RunIndex {
  starts(): Promise<ReadonlyMap<string, RunStart>>;
}

export function createRunIndex({ topic, log }: RunIndexOptions): WholeRunIndex {
  async function read(): Promise<IndexScan> {
    const found: IndexScan = { starts: new Map(), isComplete: false };
    await topic.readToEnd({
      onBatch: ({ records }) => {
        for (const record of records) take(found, record);
      },
    });
    return found;
  }

  /** Adds every run whose first record is in `training`. */
  async function complete(): Promise<ReadonlyMap<string, RunStart>> {
    const starts = new Map<string, RunStart>();
    for await (const { records } of batchesOf(log, 'training')) {
      for (const record of records) {
        const run = runOf(record);
        if (run !== '' && !starts.has(run)) starts.set(run, { training: record.offset, policies: 0 });
      }
    }
    const records = [...starts].map(([run, start]) => recordOf(run, start));
    await topic.append([...records, COMPLETE_RECORD]);
    return starts;
  }

  return {
    async startOf(run) {
      const { starts, isComplete } = await read();
      return starts.get(run) ?? (isComplete ? undefined : (await complete()).get(run));
    },
    async starts() {
      const { starts, isComplete } = await read();
      return isComplete ? starts : new Map([...(await complete()), ...starts]);
    },
    async note(run, start) {
      await topic.append([recordOf(run, start)]);
    },
  };
}

interface IndexScan {
  readonly starts: Map<string, RunStart>;
  isComplete: boolean;
}

const recordOf = (run: string, start: RunStart) => ({ key: run, value: Buffer.from(JSON.stringify(start)) });

/** Ignores foreign records. */
function take(found: IndexScan, { key, value }: LogRecord): void {
  const run = key?.toString() ?? '';
  if (run === COMPLETE_KEY) found.isComplete = value !== null;
  const start = run === '' || value === null ? undefined : parse(value);
  if (start !== undefined) found.starts.set(run, start);
}

function parse(value: Buffer): RunStart | undefined {
  try {
    const start = JSON.parse(value.toString()) as Partial<RunStart> | null;
    const { training, policies, rollouts, tasks } = start ?? {};
    if (!isOffset(training) || !isOffset(policies)) return undefined;
    return { training, policies, ...(areOffsets(rollouts) ? { rollouts } : {}), ...(areOffsets(tasks) ? { tasks } : {}) };
  } catch {
    return undefined;
  }
}

const areOffsets = (value: unknown): value is readonly number[] => Array.isArray(value) && value.every(isOffset);

const isOffset = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
