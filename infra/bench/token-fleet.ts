// Answers the requests of a trainer with attempts that have every token: it writes what workers with an inference engine would write.
import type { TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { Codec } from '../../schemas/codec.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import type { KafkaConnection } from '../kafka/connect.ts';
import { finished, started } from '../testing/rollout-events.ts';
import { tokenTurns, type RowSize } from './row-stages.ts';
import { askedOf } from './synthetic-answers.ts';

export interface TokenFleet {
  /** Requests that were answered. */
  readonly answered: number;
  close(): Promise<void>;
}

interface TokenFleetOptions {
  readonly kafka: KafkaConnection;
  readonly codec: Codec;
  readonly run: string;
  readonly size: RowSize;
}

/** Answers every request of the run until it is closed. */
export async function startTokenFleet({ kafka, codec, run, size }: TokenFleetOptions): Promise<TokenFleet> {
  const writer = await kafka.writer();
  let answered = 0;
  const following = await kafka.reader().follow({
    topics: ['tasks'],
    from: [],
    otherwise: 'first',
    async onBatch({ records }) {
      for (const record of records) {
        const asked = askedOf(record, codec, run);
        if (asked === undefined) continue;
        await writer.append(answerTo(asked.task, answered, size));
        answered += 1;
      }
    },
    onError: (error) => {
      throw error;
    },
  });
  return {
    get answered() {
      return answered;
    },
    close: () => following.close(),
  };
}

/** Every second sample of a group has the reward 1, the others 0. */
function answerTo(task: TrajectoryRequested, number: number, size: RowSize): readonly OutgoingEvent[] {
  const { run_id: run, group_id: key, trajectory_id: trajectory, attempt, sample, admitted_version: version } = task;
  const at = (sequence: number) => ({ run, trajectory, attempt, sequence });
  const turns = tokenTurns(number, size).map((own, index): OutgoingEvent => {
    const place = started(at(index + 1));
    const event = { ...own, ...place, policy_spans: [{ version, tokens: own.completion_tokens }] };
    return { type: 'TurnRecorded', key, event };
  });
  const tokens = size.turns * Math.floor(size.tokens / size.turns / 2);
  const end = { turns: turns.length, completion_tokens: tokens, version_first: version, version_last: version };
  return [
    { type: 'TrajectoryStarted', key, event: started(at(0)) },
    ...turns,
    { type: 'TrajectoryFinished', key, event: finished(at(turns.length + 1), sample % 2, end) },
  ];
}
