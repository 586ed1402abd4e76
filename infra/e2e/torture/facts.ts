// The raw log of one run, read only with the codec: the input of the oracle. It intentionally shares no code with the fold of the trainer
// or the rows of the sink. Long texts are not kept, because a long torture test has gigabytes of them.
import { createHash } from 'node:crypto';
import type { Codec, DecodedEvent } from '../../../schemas/codec.ts';
import type { Decision, EventByType, EventTopic, PolicySpan } from '../../../schemas/generated/events.ts';
import type { LogReader, LogRecord } from '../../../streams/core/ports.ts';
import { contentOf, type RecordContent } from './contents.ts';

/** One record of the ledger, the tasks or the policies. */
export interface LogFact {
  readonly partition: number;
  readonly offset: number;
  /** Of the Avro body, hex. */
  readonly sha256: string;
  readonly read: DecodedEvent;
}

export interface TurnPart {
  readonly kind: 'turn';
  readonly spans: readonly PolicySpan[];
  readonly tokens: number;
  readonly reward: number;
  readonly decision: Decision | null;
}

export interface EndPart {
  readonly kind: 'finished';
  readonly status: string;
  readonly reward: number;
  readonly f1: number;
  readonly em: number;
  readonly formatOk: boolean;
  readonly turns: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly flightMs: number;
}

/** One record of an attempt. */
export interface RolloutFact {
  readonly partition: number;
  readonly offset: number;
  readonly sha256: string;
  readonly group: string;
  readonly trajectory: string;
  readonly attempt: number;
  readonly sequence: number;
  readonly worker: string;
  readonly part: { readonly kind: 'started' } | TurnPart | EndPart;
}

/** A worker reports its running attempts. */
interface HeartbeatFact {
  readonly partition: number;
  readonly offset: number;
  readonly worker: string;
  /** `<trajectory>/<attempt>`. */
  readonly running: readonly string[];
}

/** Records that the log lost, and when: the ledger then ended at `ledgerEnd`. */
interface GoneFacts {
  readonly how: 'cut' | 'deleted';
  readonly topic: EventTopic;
  readonly ledgerEnd: number;
  readonly ranges: readonly { readonly partition: number; readonly from: number; readonly to: number }[];
  readonly tasks: readonly LogFact[];
  readonly rollouts: readonly RolloutFact[];
}

export interface RunFacts {
  readonly training: readonly LogFact[];
  /** Requests for training; those for evaluations are not in the ledger. */
  readonly tasks: readonly LogFact[];
  readonly rollouts: readonly RolloutFact[];
  readonly policies: readonly LogFact[];
  readonly heartbeats: readonly HeartbeatFact[];
  readonly gone: readonly GoneFacts[];
}

/** Every readable record as it must appear in the tables, by topic, of all runs. */
export type Contents = ReadonlyMap<EventTopic, readonly RecordContent[]>;

/** Ledger entries are read before the records of the groups that they close. */
const topics = ['training', 'tasks', 'policies', 'rollouts', 'questions', 'evaluations', 'dead-letters'] as const;

const nothing = (): CollectedFacts => ({ training: [], tasks: [], policies: [], rollouts: [], heartbeats: [] });

/** What a fault removed from the log, with the original records. */
export type RemovedRecords = Pick<GoneFacts, 'how' | 'topic' | 'ledgerEnd'> & {
  readonly parts: readonly (GoneFacts['ranges'][number] & { readonly records: readonly LogRecord[] })[];
};

/**
 * Decodes removed records. Records that retention deleted were already stored, and must stay stored. If a broker is killed soon afterwards,
 * the records reappear, so they may also be in the log, and may be deleted again.
 */
function goneFacts(
  gone: RemovedRecords,
  { codec, runId, contents }: { codec: Codec; runId: string; contents: RecordContent[] },
): GoneFacts {
  const facts = nothing();
  const known = new Set(contents.map(placeOf));
  for (const record of gone.parts.flatMap(({ records }) => records)) {
    const decoded = codec.decode(record.value ?? Buffer.alloc(0));
    if (!decoded.ok) continue;
    if (gone.how === 'deleted' && !known.has(placeOf(record))) contents.push(contentOf(record, decoded.value));
    if (decoded.value.event.run_id === runId) keep(facts, record, decoded.value);
  }
  const { how, topic, ledgerEnd, parts } = gone;
  return { how, topic, ledgerEnd, ranges: parts.map(({ partition, from, to }) => ({ partition, from, to })), ...facts };
}

/** Identifies a record or a row within its topic. */
export const placeOf = ({ partition, offset }: Pick<LogRecord, 'partition' | 'offset'>): string => `${partition}/${offset}`;

interface Everything {
  readonly facts: RunFacts;
  readonly contents: Contents;
}

/** Reads the whole log. */
export const readFacts = (log: LogReader, codec: Codec, runId: string): Promise<Everything> =>
  readFactsAfter(log, codec, { runId, taken: [] });

/** The same for a log from which records were removed. */
export async function readFactsAfter(
  log: LogReader,
  codec: Codec,
  { runId, taken }: { readonly runId: string; readonly taken: readonly RemovedRecords[] },
): Promise<Everything> {
  const facts = nothing();
  const contents = new Map<EventTopic, RecordContent[]>();
  for (const topic of topics) {
    const own: RecordContent[] = [];
    contents.set(topic, own);
    await readTopic(log, codec, {
      topic,
      onRead: (record, read) => {
        own.push(contentOf(record, read));
        if (read.event.run_id === runId) keep(facts, record, read);
      },
    });
  }
  const gone = taken.map((one) => goneFacts(one, { codec, runId, contents: contents.get(one.topic) ?? [] }));
  return { facts: { ...facts, gone }, contents };
}

/** The same without rollouts of open groups and without table contents: for a run with many open groups. */
export async function readClosed(log: LogReader, codec: Codec, runId: string): Promise<RunFacts> {
  const facts = nothing();
  const closed = new Set<string>();
  for (const topic of ['training', 'tasks', 'policies', 'rollouts'] as const) {
    const wanted = ({ key }: LogRecord): boolean => topic !== 'rollouts' || closed.has(key?.toString() ?? '');
    const onRead = (record: LogRecord, read: DecodedEvent): void => {
      if (read.event.run_id === runId) keep(facts, record, read);
    };
    await readTopic(log, codec, { topic, wanted, onRead });
    for (const { read } of topic === 'training' ? facts.training : []) for (const id of groupsClosedBy(read)) closed.add(id);
  }
  return { ...facts, gone: [] };
}

function groupsClosedBy({ type, event }: DecodedEvent): readonly string[] {
  if (type === 'StepCompleted') return event.trajectories.map((row) => row.group_id);
  return type === 'TrajectoryDiscarded' ? [event.group_id] : [];
}

interface TopicRead {
  readonly topic: EventTopic;
  readonly wanted?: (record: LogRecord) => boolean;
  readonly onRead: (record: LogRecord, read: DecodedEvent) => void;
}

async function readTopic(log: LogReader, codec: Codec, { topic, wanted, onRead }: TopicRead): Promise<void> {
  await log.readToEnd(topic, {
    onBatch: ({ records }) => {
      for (const record of records) {
        if (wanted?.(record) === false) continue;
        const decoded = codec.decode(record.value ?? Buffer.alloc(0));
        if (!decoded.ok) throw new Error(`reading ${topic}/${record.partition}/${record.offset}: ${decoded.reason}`);
        onRead(record, decoded.value);
      }
    },
  });
}

interface CollectedFacts {
  readonly training: LogFact[];
  readonly tasks: LogFact[];
  readonly policies: LogFact[];
  readonly rollouts: RolloutFact[];
  readonly heartbeats: HeartbeatFact[];
}

function keep(facts: CollectedFacts, record: LogRecord, read: DecodedEvent): void {
  const { topic, partition, offset } = record;
  const fact = { partition, offset, sha256: bodyHash(record.value ?? Buffer.alloc(0)) };
  if (topic === 'rollouts') {
    if (read.type === 'WorkerHeartbeat') facts.heartbeats.push({ partition, offset, ...heartbeatOf(read.event) });
    const rollout = rolloutFact(fact, read);
    if (rollout !== undefined) facts.rollouts.push(rollout);
  } else if (topic === 'tasks') {
    if (read.type === 'TrajectoryRequested' && read.event.purpose === 'train') facts.tasks.push({ ...fact, read });
  } else if (topic === 'training' || topic === 'policies') {
    facts[topic].push({ ...fact, read });
  }
}

const heartbeatOf = ({ worker_id: worker, running }: EventByType['WorkerHeartbeat']): Pick<HeartbeatFact, 'worker' | 'running'> => ({
  worker,
  running: running.map(({ trajectory_id: id, attempt }) => `${id}/${attempt}`),
});

const FRAME = 5;
const bodyHash = (value: Buffer): string => createHash('sha256').update(value.subarray(FRAME)).digest('hex');

/** Undefined for heartbeats and for records that are not for training. */
function rolloutFact(
  place: { readonly partition: number; readonly offset: number; readonly sha256: string },
  read: DecodedEvent,
): RolloutFact | undefined {
  if (read.type !== 'TrajectoryStarted' && read.type !== 'TurnRecorded' && read.type !== 'TrajectoryFinished') return undefined;
  const { purpose, group_id: group, trajectory_id: trajectory, attempt, sequence, worker_id: worker } = read.event;
  if (purpose !== 'train') return undefined;
  return { ...place, group, trajectory, attempt, sequence, worker, part: partOf(read) };
}

type Rollout = Extract<DecodedEvent, { readonly type: 'TrajectoryStarted' | 'TurnRecorded' | 'TrajectoryFinished' }>;

function partOf({ type, event }: Rollout): RolloutFact['part'] {
  if (type === 'TrajectoryStarted') return { kind: 'started' };
  if (type === 'TurnRecorded') {
    const { policy_spans: spans, completion_tokens: tokens, reward, decision } = event;
    // copied, because a view would keep the whole fetched batch in memory
    const own = decision === null ? null : { ...decision, features: Buffer.from(decision.features) };
    return { kind: 'turn', spans, tokens, reward, decision: own };
  }
  return {
    kind: 'finished',
    status: event.status,
    reward: event.reward,
    f1: event.f1,
    em: event.em,
    formatOk: event.format_ok,
    turns: event.turns,
    toolCalls: event.tool_calls,
    tokens: event.completion_tokens,
    flightMs: Math.max(0, Math.round((event.finished_at - event.started_at) / 1000)),
  };
}

export type FactOf<T extends DecodedEvent['type']> = LogFact & { readonly event: EventByType[T] };

/** The events of one type, in log order. */
export function eventsOf<T extends DecodedEvent['type']>(facts: readonly LogFact[], type: T): readonly FactOf<T>[] {
  return facts.flatMap((fact) => (fact.read.type === type ? [{ ...fact, event: fact.read.event as EventByType[T] }] : []));
}
