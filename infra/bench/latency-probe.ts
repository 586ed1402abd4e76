// How long after it was produced can a turn be selected? Turns of a separate run are written at a steady rate, independent of the load, and
// queried until they appear. Each time is measured from before the call of the producer until after the response that contains the turn. So
// it is never too short; on average, it is too long by half the time between two queries.
import { setTimeout as sleep } from 'node:timers/promises';
import type { TurnRecorded } from '../../schemas/generated/events.ts';
import { emptyTurn } from '../../schemas/rollouts/turn.ts';
import type { EventWriter, Store } from '../../streams/core/ports.ts';

interface LatencyProbe {
  /** Stops writing, waits until all written turns were seen, and returns the times in the order of the turns, ms. */
  stop(): Promise<readonly number[]>;
  /** How long each turn that was written and not seen yet has been waiting, ms. */
  waiting(): readonly number[];
}

interface ProbeOptions {
  readonly store: Store;
  readonly writer: EventWriter;
  /** Turns per second. */
  readonly rate: number;
  /** Size of the text of each turn, bytes. */
  readonly textBytes: number;
}

const RUN = 'probe';
const LOOK_MS = 60;
const GROUPS = 64;
/** A turn that is not seen within this time counts as lost. */
const LOST_MS = 120_000;

export function startProbe({ store, writer, rate, textBytes }: ProbeOptions): LatencyProbe {
  const text = 'The probe wrote this. '.repeat(Math.ceil(textBytes / 22)).slice(0, textBytes);
  const sent = new Map<number, number>();
  const times: number[] = [];
  let [next, stopping] = [0, false];

  async function write(): Promise<void> {
    const began = performance.now();
    while (!stopping) {
      const turn = next;
      next += 1;
      sent.set(turn, performance.now());
      void writer.append([
        { type: 'TurnRecorded', key: `${RUN}-g${turn % GROUPS}`, event: probeTurn({ run: RUN, trajectory: RUN, turn }, text) },
      ]);
      await sleep(Math.max(0, began + (next * 1_000) / rate - performance.now()));
    }
  }

  async function look(): Promise<void> {
    while (!stopping || sent.size > 0) {
      const [oldest] = sent.keys();
      if (oldest !== undefined) {
        const sql = 'select turn from turns where run_id = {run:String} and trajectory_id = {run:String} and turn >= {oldest:Int32}';
        const rows = await store.query<{ turn: number }>(sql, { params: { run: RUN, oldest } });
        note(rows.map(({ turn }) => turn));
        if (performance.now() - (sent.get(oldest) ?? Infinity) > LOST_MS) throw new Error(`turn ${oldest} of the probe never appeared`);
      }
      await sleep(LOOK_MS);
    }
  }

  function note(turns: readonly number[]): void {
    const now = performance.now();
    for (const turn of turns) {
      const at = sent.get(turn);
      if (at !== undefined) times[turn] = now - at;
      sent.delete(turn);
    }
  }

  const [writing, looking] = [write(), look()];
  looking.catch(() => {
    stopping = true;
  });
  return {
    async stop() {
      stopping = true;
      await Promise.all([writing, looking]);
      return times;
    },
    waiting: () => [...sent.values()].map((at) => performance.now() - at),
  };
}

/** A turn whose producer and worker show that a benchmark wrote it. */
export function probeTurn({ run, trajectory, turn }: ProbePlace, text: string): TurnRecorded {
  const micros = Date.now() * 1_000;
  return {
    ...emptyTurn,
    event_id: `${trajectory}/0/${turn + 1}`,
    ...{ run_id: run, producer: 'bench/probe', group_id: trajectory, trajectory_id: trajectory, worker_id: 'bench' },
    ...{ occurred_at: micros, started_at: micros, attempt: 0, purpose: 'external', sequence: turn + 1, question_id: '', turn },
    ...{ policy_spans: [{ version: 0, tokens: 1 }], prompt_tokens: 1, completion_tokens: 1, generation_ms: 1, finish_reason: 'stop', text },
  };
}

interface ProbePlace {
  readonly run: string;
  readonly trajectory: string;
  readonly turn: number;
}
