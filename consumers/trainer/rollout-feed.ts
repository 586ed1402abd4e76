// Follows `rollouts` and folds every record of the run. Skips records of other runs by header and records of closed groups by key. Folding
// waits while a commit is in progress, so that a worker's response to a request is never folded before the request itself.
import type { EventDecoder, EventRead, Following, LogBatch, LogReader, LogRecord, Position } from '../../streams/core/ports.ts';
import { ofRun } from '../../streams/core/read-log.ts';
import type { Metrics } from '../../streams/core/telemetry.ts';
import type { DecodedEvent } from '../../schemas/codec.ts';
import type { EventType, WorkerHeartbeat } from '../../schemas/generated/events.ts';
import { foldRollout, noteRead } from '../../streams/run/fold.ts';
import { rolloutView, type RolloutEvent } from '../../streams/trajectory/rollout-view.ts';
import type { WorkerSign } from '../../streams/trainer/heard-workers.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import { createMarkCheck } from './mark-check.ts';

export interface RolloutFeed {
  start(): Promise<void>;
  /** Runs `work` while no record is folded. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** True once every partition has been read up to its end at the start. */
  readonly caughtUp: boolean;
  /** Records between the folded position and the end of the log, as reported by the broker. */
  readonly lag: number;
  /** Records folded so far. */
  readonly folded: number;
  close(): Promise<void>;
}

/** What the feed reports about workers. */
interface LifeSigns {
  /** A worker's sign of life was folded. */
  heard(workerId: string, sign: Omit<WorkerSign, 'nowMs'>): void;
  /** The state has caught up with the log for the first time. */
  live(): void;
}

export interface FeedDeps {
  readonly state: RunState;
  readonly log: LogReader;
  /** May read through rolloutView: no other field is used. */
  readonly rollouts: EventDecoder;
  readonly signs: LifeSigns;
  readonly metrics: Metrics;
  /** Something was folded. */
  readonly onFolded: () => void;
  readonly onError: (error: unknown) => void;
}

interface KeyedBatch {
  /** The records of each key, in the order of the log. */
  readonly keys: ReadonlyMap<string, readonly LogRecord[]>;
  readonly ofUnknownSchema: Set<LogRecord>;
}

const keyOf = (record: LogRecord): string => record.keyText ?? record.key?.toString() ?? '';

/**
 * In the log, records of thousands of groups alternate. Handled group by group, they find the state of their group in the CPU caches, which
 * makes a restart a quarter faster.
 */
function byKey(records: readonly LogRecord[], rollouts: EventDecoder): KeyedBatch {
  const keys = new Map<string, LogRecord[]>();
  const ofUnknownSchema = new Set<LogRecord>();
  for (const record of records) {
    const key = keyOf(record);
    const own = keys.get(key);
    if (own === undefined) keys.set(key, [record]);
    else own.push(record);
    if (!rollouts.knows(record)) ofUnknownSchema.add(record);
  }
  return { keys, ofUnknownSchema };
}

const isHeartbeat = (record: LogRecord): boolean => record.headers['ce_type']?.toString().endsWith('.WorkerHeartbeat') === true;

/**
 * The records that will be folded. The schemas of others are not looked up: an outage of the registry must not stop this run because of a
 * schema that only another run uses.
 */
function foldedOf(state: RunState, records: ReadonlySet<LogRecord>): readonly LogRecord[] {
  const isOwn = ofRun(state.runId);
  return [...records].filter((record) => state.groups.has(keyOf(record)) || (isHeartbeat(record) && isOwn(record)));
}

async function lookUp(rollouts: EventDecoder, records: readonly LogRecord[], ofUnknownSchema: Set<LogRecord>): Promise<void> {
  for (const record of records) {
    await rollouts.read(record);
    ofUnknownSchema.delete(record);
  }
}

function foldRead(deps: FeedDeps, read: EventRead, record: LogRecord): void {
  // the warehouse, which reads every topic, puts undecodable records into dead-letters
  if (!read.ok || !isRollout(read.value)) return;
  const { value } = read;
  if (value.event.run_id !== deps.state.runId) return;
  if (value.type === 'TrajectoryStarted') deps.signs.heard(value.event.worker_id, { timestampMs: record.timestampMs });
  else if (value.type === 'WorkerHeartbeat') {
    deps.signs.heard(value.event.worker_id, { timestampMs: record.timestampMs, running: listedIn(value.event) });
  }
  foldRollout(deps.state, value, record);
}

const listedIn = ({ running }: Pick<WorkerHeartbeat, 'running'>): ReadonlySet<string> =>
  new Set(running.map(({ trajectory_id: id, attempt }) => `${id}/${attempt}`));

/**
 * Folds the records from an offset on. The headers of a record in an open group are not checked: decoding shows whether it belongs to this
 * run. A record outside the open groups is either a heartbeat or late; late ones are not decoded. Heartbeats come last, because the last
 * sign of a worker counts.
 */
function foldKeys(deps: FeedDeps, keys: ReadonlyMap<string, readonly LogRecord[]>, from: number): void {
  const { state, rollouts } = deps;
  const isOwn = ofRun(state.runId);
  const heartbeats: LogRecord[] = [];
  for (const [key, records] of keys) {
    const isOpen = state.groups.has(key);
    for (const record of records) {
      if (record.offset < from) continue;
      if (isOpen) foldRead(deps, rollouts.decode(record), record);
      else if (!isOwn(record)) continue;
      else if (isHeartbeat(record)) heartbeats.push(record);
      else state.lateRecords += 1;
    }
  }
  for (const record of heartbeats) foldRead(deps, rollouts.decode(record), record);
}

const isRollout = (value: { readonly type: EventType }): value is RolloutEvent & DecodedEvent => value.type in rolloutView;

function behind(ends: ReadonlyMap<number, number>, positions: ReadonlyMap<number, number>): number {
  let lag = 0;
  for (const [partition, end] of ends) lag += Math.max(0, end - (positions.get(partition) ?? 0));
  return lag;
}

export function createRolloutFeed(deps: FeedDeps): RolloutFeed {
  const { state } = deps;
  const check = createMarkCheck(deps.log, state);
  const ends = new Map<number, number>();
  const targets = new Map<number, number>();
  let following: Following | undefined;
  let gate: Promise<unknown> = Promise.resolve();
  let [caughtUp, folded] = [false, 0];

  async function onBatch(batch: LogBatch): Promise<void> {
    await check.assertFollows(batch);
    const { keys, ofUnknownSchema } = byKey(batch.records, deps.rollouts);
    await gate;
    for (let needed = foldedOf(state, ofUnknownSchema); needed.length > 0; needed = foldedOf(state, ofUnknownSchema)) {
      await lookUp(deps.rollouts, needed, ofUnknownSchema);
      // groups may have opened meanwhile
      await gate;
    }
    // from here to the end of the batch, nothing else sees the state
    foldKeys(deps, keys, state.rolloutPositions.get(batch.partition) ?? 0);
    noteRead(state, batch);
    ends.set(batch.partition, batch.endOffset);
    folded += batch.records.length;
    deps.metrics.count('trainer_records_total', { topic: 'rollouts' }, batch.records.length);
    noteProgress();
    deps.onFolded();
  }

  function noteProgress(): void {
    if (caughtUp) return;
    caughtUp = [...targets].every(([partition, end]) => (state.rolloutPositions.get(partition) ?? 0) >= end);
    if (caughtUp) deps.signs.live();
  }

  return {
    async start() {
      const from: Position[] = [];
      for (const { partition, first, end } of await deps.log.bounds('rollouts')) {
        const position = state.rolloutPositions.get(partition) ?? first;
        from.push({ topic: 'rollouts', partition, offset: Math.min(position, check.awaited(partition, first) ?? position) });
        const at = Math.max(first, position);
        state.rolloutPositions.set(partition, at);
        if (end > at) targets.set(partition, end);
      }
      noteProgress();
      following = await deps.log.follow({ topics: ['rollouts'], from, otherwise: 'first', onBatch, onError: deps.onError });
    },
    async exclusively(work) {
      const turn = gate.then(work);
      gate = turn.catch(() => undefined);
      return turn;
    },
    get caughtUp() {
      return caughtUp;
    },
    get lag() {
      return behind(ends, state.rolloutPositions);
    },
    get folded() {
      return folded;
    },
    close: async () => following?.close(),
  };
}
