// Where each run begins, out of one compacted topic: the key of a record is the run, its value a lower bound of the offsets
// of everything that the run wrote to `training`, `policies`, `rollouts` and `tasks`. A run is noted before its first entry is written, so that
// a run that is not in a complete index has not begun, however much others wrote.
//
// - A bound that is too low costs time; one that is too high cannot be: the ends of the log are asked for before it is asked
//   whether the run exists, and whoever notes it later, for whatever reason, does so before it writes.
// - The index is complete when it says so. That is written when the topics are made, and where they are older, by whoever
//   needs the index first, after looking through `training` once, at headers alone.
// - Nothing depends on it but time: when the topic is deleted the next start looks through `training` once more, and a bound
//   behind the end of `training`, which was made anew since, is passed over (consumers/trainer/find-ledger.ts).
import type { LogReader, LogRecord, RunIndex, RunStart } from '../../../streams/core/ports.ts';
import { batchesOf, runOf } from '../../../streams/core/read-log.ts';
import type { RawRecord } from '../records/message.ts';

/** No slug of a run. */
const COMPLETE_KEY = '*';

/** What makes an index of topics without entries complete. */
export const COMPLETE_RECORD = { key: COMPLETE_KEY, value: Buffer.from('{"complete":true}') } as const;

export interface RunIndexOptions {
  /** The topic of the index. */
  readonly topic: {
    append(records: readonly RawRecord[]): Promise<unknown>;
    readToEnd(options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
  };
  readonly log: Pick<LogReader, 'readToEnd'>;
}

/** The index, and all of it. */
export interface WholeRunIndex extends RunIndex {
  starts(): Promise<ReadonlyMap<string, RunStart>>;
}

export function createRunIndex({ topic, log }: RunIndexOptions): WholeRunIndex {
  async function read(): Promise<Found> {
    const found: Found = { starts: new Map(), isComplete: false };
    await topic.readToEnd({
      onBatch: ({ records }) => {
        for (const record of records) take(found, record);
      },
    });
    return found;
  }

  /** Notes every run whose first record is in `training`. */
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

interface Found {
  readonly starts: Map<string, RunStart>;
  isComplete: boolean;
}

const recordOf = (run: string, start: RunStart) => ({ key: run, value: Buffer.from(JSON.stringify(start)) });

/** Records that are none of ours are passed over. */
function take(found: Found, { key, value }: LogRecord): void {
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
