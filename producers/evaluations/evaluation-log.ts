// Reads the events of an evaluation that are already in the log. Skips other records by key, without decoding them.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { EvaluationCompleted } from '../../schemas/generated/events.ts';
import type { EventReader, LogBatch, LogReader, LogRecord, Position } from '../../streams/core/ports.ts';
import { batchesOf, eventsOf, runOf } from '../../streams/core/read-log.ts';
import { foldRollout, noteRequested, noteScored, type EvaluationState } from '../../streams/evaluation/evaluation.ts';

export interface EvaluationLog {
  readonly evaluationId: string;
  readonly runId: string;
  readonly reader: LogReader;
  readonly events: EventReader;
}

const HEARTBEAT = '.WorkerHeartbeat';

/** Decodes the wanted records of a batch; undecodable ones are skipped (the warehouse keeps them). */
async function readWanted(batch: LogBatch, events: EventReader, wanted: (record: LogRecord) => boolean): Promise<DecodedEvent[]> {
  const found: DecodedEvent[] = [];
  for (const record of batch.records) {
    if (!wanted(record)) continue;
    const read = await events.read(record);
    if (read.ok) found.push(read.value);
  }
  return found;
}

const keyOf = (record: LogRecord): string => record.key?.toString() ?? '';

/** Matches records of the evaluation's groups, by group or trajectory id. */
const ownGroups =
  ({ evaluationId }: EvaluationLog) =>
  (record: LogRecord): boolean =>
    keyOf(record).startsWith(`${evaluationId}-q`);

const isHeartbeat = ({ runId }: EvaluationLog, record: LogRecord): boolean =>
  record.headers['ce_type']?.toString().endsWith(HEARTBEAT) === true && runOf(record) === runId;

/** Number of the newest repeat of an evaluation in the log, where 0 is the first evaluation; -1 when the log has none. */
export async function newestRepeat(reader: LogReader, evaluationId: string): Promise<number> {
  let newest = -1;
  for await (const { records } of batchesOf(reader, 'evaluations')) {
    for (const key of records.map(keyOf).filter((one) => one.startsWith(evaluationId))) {
      const repeat = key === evaluationId ? 0 : Number(/^-again(\d+)$/.exec(key.slice(evaluationId.length))?.[1] ?? -1);
      newest = Math.max(newest, repeat);
    }
  }
  return newest;
}

export interface RecordedSoFar {
  /** When it began, ms since 1970; undefined if it did not. */
  readonly begunAtMs: number | undefined;
  readonly completed: EvaluationCompleted | undefined;
}

/** Folds the scores of the evaluation; returns whether it began, and its result if it is complete. */
export async function readScores(log: EvaluationLog, state: EvaluationState): Promise<RecordedSoFar> {
  let begunAtMs: number | undefined;
  let completed: EvaluationCompleted | undefined;
  const wants = (record: LogRecord): boolean => keyOf(record) === log.evaluationId;
  for await (const read of eventsOf({ log: log.reader, events: log.events }, 'evaluations', { wants })) {
    if (!read.ok) continue;
    const { type, event } = read.value;
    if (type === 'EvaluationStarted') begunAtMs ??= event.occurred_at / 1_000;
    if (type === 'AnswerScored') noteScored(state, event);
    if (type === 'EvaluationCompleted') completed ??= event;
  }
  return { begunAtMs, completed };
}

/** Folds the requests of the evaluation. */
export async function readRequests(log: EvaluationLog, state: EvaluationState, nowMs: () => number): Promise<void> {
  for await (const read of eventsOf({ log: log.reader, events: log.events }, 'tasks', { wants: ownGroups(log) })) {
    if (read.ok && read.value.type === 'TrajectoryRequested') noteRequested(state, read.value.event, nowMs());
  }
}

/** Folds the rollout events of the evaluation so far, without old heartbeats; returns the positions to continue from. */
export async function readRollouts(log: EvaluationLog, state: EvaluationState, nowMs: () => number): Promise<readonly Position[]> {
  const positions = new Map((await log.reader.bounds('rollouts')).map(({ partition, first }) => [partition, first]));
  for await (const batch of batchesOf(log.reader, 'rollouts')) {
    for (const event of await readWanted(batch, log.events, ownGroups(log))) foldRollout(state, event, nowMs());
    positions.set(batch.partition, batch.nextOffset);
  }
  return positionsOf('rollouts', positions);
}

/** Current end positions of `rollouts`. */
export async function endOfRollouts(log: EvaluationLog): Promise<readonly Position[]> {
  return positionsOf('rollouts', new Map((await log.reader.bounds('rollouts')).map(({ partition, end }) => [partition, end])));
}

const positionsOf = (topic: EventTopic, offsets: ReadonlyMap<number, number>): readonly Position[] =>
  [...offsets].map(([partition, offset]) => ({ topic, partition, offset }));

/** Folds a live batch of `rollouts`, including the run's heartbeats. */
export async function foldBatch(log: EvaluationLog, state: EvaluationState, at: { batch: LogBatch; nowMs: number }): Promise<void> {
  const own = ownGroups(log);
  const wanted = (record: LogRecord): boolean => own(record) || isHeartbeat(log, record);
  for (const event of await readWanted(at.batch, log.events, wanted)) foldRollout(state, event, at.nowMs);
}
