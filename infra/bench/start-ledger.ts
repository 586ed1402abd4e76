// What the start bench puts into the log: entries of other runs, and the ledger of a long run after its real beginning.
import { TOLD_NOTHING } from '../../consumers/trainer/commit-parts.ts';
import { groupIdFor } from '../../streams/trainer/entries.ts';
import { createLedgerWriter } from '../../consumers/trainer/ledger-writer.ts';
import { createCodec } from '../../schemas/codec.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { PolicyPublished, RunStarted, StepCompleted } from '../../schemas/generated/events.ts';
import type { EventReader, EventWriter, LogReader, OutgoingEvent } from '../../streams/core/ports.ts';
import { advance, emptyChain, isLedgerType, type ChainHead, type Unchained } from '../../streams/ledger/chain.ts';

const AT = 1_700_000_000_000_000;
const CHUNK = 2_000;

/** Writes small entries of a thousand other runs; their number must not slow down a start. */
export async function writeForeign(writer: EventWriter, entries: number): Promise<void> {
  for (let from = 0; from < entries; from += CHUNK) {
    const count = Math.min(CHUNK, entries - from);
    await writer.append(Array.from({ length: count }, (_, i) => foreignEntry(from + i)));
  }
}

function foreignEntry(index: number): OutgoingEvent {
  const [run, sequence] = [`other-${index % 1_000}`, Math.floor(index / 1_000)];
  const trajectory = `${run}-g000000.0`;
  const chain = {
    event_id: `${run}/${sequence}`,
    run_id: run,
    occurred_at: AT,
    producer: 'bench',
    sequence,
    previous_sha256: '0'.repeat(64),
  };
  const event = { ...chain, group_id: `${run}-g000000`, trajectory_id: trajectory, attempt: 0, reason: 'silent', next_attempt: 1 };
  return { type: 'TrajectoryExpired', key: run, event };
}

/** A run as its trainer left it. */
export interface WrittenRun {
  readonly head: ChainHead;
  readonly started: RunStarted;
  readonly policy: PolicyPublished;
  readonly admitted: number;
  readonly end: number;
}

export async function readBegun(log: LogReader, events: EventReader, run: string): Promise<WrittenRun> {
  let [head, admitted, end] = [emptyChain, 0, 0];
  let started: RunStarted | undefined;
  let policy: PolicyPublished | undefined;
  for (const topic of ['training', 'policies'] as const) {
    await log.readToEnd(topic, {
      onBatch: async (batch) => {
        for (const record of batch.records) {
          const read = await events.read(record);
          if (!read.ok || read.value.event.run_id !== run) continue;
          const { type, event } = read.value;
          if (type === 'PolicyPublished') policy = event;
          if (!isLedgerType(type)) continue;
          head = advance(head, bodyOf(record.value ?? Buffer.alloc(5)));
          end = record.offset + 1;
          if (type === 'RunStarted') started = event;
          if (type === 'GroupsAdmitted') admitted += event.groups.length;
        }
      },
    });
  }
  if (started === undefined || policy === undefined) throw new Error(`reading run ${run}: it has not begun`);
  return { head, started, policy, admitted, end };
}

export interface Length {
  readonly steps: number;
  readonly groups: number;
  readonly samples: number;
}

/** Writes steps as a trainer does, two entries each, and publishes the initial weights as the newest. Returns the bytes of the entries. */
export async function writeSteps(writer: EventWriter, begun: WrittenRun, { steps, groups, samples }: Length): Promise<number> {
  const codec = createCodec();
  const { started, policy } = begun;
  let [{ head }, next, bytes] = [begun, begun.admitted, 0];
  for (let step = 1; step <= steps; step += 1) {
    const ids = Array.from({ length: groups }, (_, i) => groupIdFor(started.run_id, next + i));
    const ledger = createLedgerWriter({ runId: started.run_id, producer: started.producer, codec, now: () => AT + step }, head);
    ledger.add('GroupsAdmitted', admissionOf(ids, step, samples));
    next += groups;
    const counts = { admitted_groups: next, trained_groups: step * groups, discarded_groups: 0, open_groups: begun.admitted };
    const resume = { ...started.resume, ...counts, ledger_offset: begun.end + 2 * (step - 1) };
    const hashes = { weights_sha256: policy.sha256, optimizer_sha256: policy.optimizer_sha256, batch_sha256: policy.sha256 };
    ledger.add('StepCompleted', { ...stepOf(ids, step, samples), ...hashes, resume });
    for (const { body } of ledger.written) {
      head = advance(head, body);
      bytes += body.length;
    }
    await writer.append(ledger.events());
  }
  const event = { ...policy, event_id: `${started.run_id}/policy/${steps}`, version: steps, parent: steps - 1 };
  await writer.append([{ type: 'PolicyPublished', key: started.run_id, event }]);
  return bytes;
}

const admissionOf = (ids: readonly string[], step: number, samples: number): Unchained<'GroupsAdmitted'> => ({
  ...{
    version: step - 1,
    capacity: ids.length,
    running: 0,
    accepted: 0,
    max_concurrent: ids.length,
    max_staleness: 4,
    batch_groups: ids.length,
  },
  groups: ids.map((id, i) => ({ group_id: id, question_id: `synthetic-${i % 64}`, samples })),
});

const METRICS: StepCompleted['metrics'] = {
  ...{ reward_mean: 0.5, f1_mean: 0.5, em_mean: 0.5, format_mean: 1, turns_mean: 40, tool_calls_mean: 40, loss: 0.1, approx_kl: 0.01 },
  ...{ behave_kl: 0.01, clip_fraction: 0.1, capped_fraction: 0, ess: 0.9, entropy: 1, grad_norm: 1, staleness_mean: 1, staleness_p95: 2 },
  ...{
    staleness_max: 3,
    staleness_in_flight_mean: 1,
    staleness_in_queue_mean: 1,
    staleness_token_mean: 1,
    staleness_token_p95: 2,
    staleness_token_max: 3,
  },
};

function stepOf(
  ids: readonly string[],
  step: number,
  samples: number,
): Omit<Unchained<'StepCompleted'>, 'weights_sha256' | 'optimizer_sha256' | 'batch_sha256' | 'resume'> {
  const trajectories = ids.flatMap((id, g) =>
    Array.from({ length: samples }, (_, sample) => ({
      ...{ group_id: id, trajectory_id: `${id}.${sample}`, attempt: 0, question_id: `synthetic-${g % 64}`, reward: sample / samples },
      ...{
        tokens: 20_000 + sample,
        turns: 40,
        version_first: step - 2,
        version_last: step - 1,
        staleness_total: 1,
        staleness_in_flight: 1,
      },
      ...{
        staleness_in_queue: 0,
        staleness_worst: 1,
        staleness_best: 0,
        staleness_span: 2,
        staleness_token_mean: 0.5,
        staleness_token_p95: 1,
      },
      ...{ staleness_token_max: 1, unknown_tokens: 0, flight_ms: 600_000, queue_ms: 20_000, advantage: 0.25 },
    })),
  );
  const totals = { groups: ids.length, tokens: trajectories.length * 20_000, unknown_tokens: 0 };
  return {
    step,
    version_before: step - 1,
    version_after: step,
    ...totals,
    metrics: METRICS,
    wait_ms: 1,
    train_ms: 1,
    trajectories,
    ...TOLD_NOTHING,
  };
}
