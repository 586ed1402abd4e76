// Answers a trainer's own requests with a synthetic fleet: it writes what workers would write, without agents or models.
import { createFleet, type OfferedTask } from '../../producers/load/fleet.ts';
import type { Load } from '../../producers/load/load.ts';
import type { LoadShape } from '../../producers/load/shape.ts';
import type { Codec } from '../../schemas/codec.ts';
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { LogReader, LogRecord, OutgoingEvent } from '../../streams/core/ports.ts';

export interface AskedTask {
  readonly task: TrajectoryRequested;
  readonly claim: { readonly partition: number; readonly offset: number };
}

/** The request in a record of `tasks`; undefined for another run. */
export function askedOf(record: LogRecord, codec: Codec, runId: string): AskedTask | undefined {
  const read = codec.decode(record.value ?? Buffer.alloc(0));
  if (!read.ok || read.value.type !== 'TrajectoryRequested' || read.value.event.run_id !== runId) return undefined;
  return { task: read.value.event, claim: { partition: record.partition, offset: record.offset } };
}

/** Every request of a run, by group index and sample. */
export async function readAsked(log: LogReader, codec: Codec, runId: string): Promise<readonly AskedTask[]> {
  const asked: AskedTask[] = [];
  await log.readToEnd('tasks', {
    onBatch: ({ records }) => {
      for (const record of records) {
        const found = askedOf(record, codec, runId);
        if (found !== undefined) asked.push(found);
      }
    },
  });
  return asked.sort((a, b) => a.task.group_index - b.task.group_index || a.task.sample - b.task.sample);
}

export interface SyntheticAnswerOptions {
  readonly shape: LoadShape;
  readonly startMs: number;
  readonly places: number;
  readonly versionAt: (ms: number) => number;
}

/** The attempts at these tasks as one sequence of events, without the ends for which `takeEnd` returns true. */
export function answersOf(
  tasks: readonly OfferedTask[],
  options: SyntheticAnswerOptions,
  takeEnd: (event: OutgoingEvent & { readonly type: 'TrajectoryFinished' }) => boolean = () => false,
): Load {
  const waiting = [...tasks].reverse();
  const fleet = createFleet({ ...options, workers: 32 });
  const begin = (): void => {
    while (fleet.free > 0) {
      const offered = waiting.pop();
      if (offered === undefined) return;
      fleet.begin(offered);
    }
  };
  return {
    next() {
      for (;;) {
        begin();
        const event = fleet.next();
        if (event?.type === 'TrajectoryFinished' && takeEnd(event)) continue;
        return event;
      }
    },
  };
}
