// The sink: stores every record of every topic in ClickHouse rows, exactly once.
//
// Invariants
// - A partition's offset moves only after its rows are stored. Before an insert, a commit that does not move it announces the insert.
// - Buffered records belong to one assignment. A rebalance drops them; the log has them.
// - Nothing is stored of a partition whose position is not in the log, until an operator runs `turnstream warehouse mend`.
// - Delivery: exactly once per record. The tables are queried for rows that may be stored already; tokens are a second safeguard.
// - Crash: the next member reads back what was announced and inserts what is missing, before anything else.
// - Offsets expired by the broker: it continues after what the tables hold (start-plan.ts).
// - Outage of ClickHouse or Kafka: waits with growing pauses, pauses the topics, and keeps at most `maxBufferedBytes` plus what is already
//   fetched; the group's heartbeats continue.
import { isPlatformError, messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { EventTopic, EventType } from '../../schemas/generated/events.ts';
import { reachNothing } from '../../streams/core/crash-points.ts';
import type { EventRead, GroupSession, LogBatch, LogRecord, Position, CommittedOffsets } from '../../streams/core/ports.ts';
import { createWake, deferred, type Wake } from '../../streams/core/waiting.ts';
import { Assignment, type Parked } from './assignment.ts';
import { bundled, type FlushWork } from './bundle.ts';
import { DEAD_LETTER_BYTES } from './dead-letter.step.ts';
import { flush, type FlushDeps, type TakenRecord, type FlushTerms } from './flush.ts';
import { patiently, type Patience } from './patience.ts';
import type { Limits } from './range.ts';
import { createHoldings, type Holdings } from './holdings.ts';
import { skippedIn, troubleOf } from './out-of-range.ts';
import { readBack, type Repeat } from './repeats.ts';
import { createSinkStatus, type SinkStatus } from './sink-status.ts';
import { findStart } from './starts.ts';
import { warehouseTopics } from './rows/tables.ts';
import type { Warehouse, WarehouseDeps } from './deps.ts';
import { takenOf } from './taken.ts';

/** Types that a reader for the sink should decode lazily: they are most of the log, and the sink copies their bytes. */
export const lateTypes: readonly EventType[] = ['TurnRecorded'];

/** A confirmation by the group is valid for an insert for this long, ms; a member asks again after half of it. */
const FENCE_MS = 5_000;

const REPORT_MS = 1_000;

const BOUNDS_AGAIN_MS = 1_000;

class Sink implements Warehouse {
  readonly finished: Promise<void>;
  readonly #deps: WarehouseDeps;
  readonly #limits: Limits;
  readonly #maxBufferedBytes: number;
  readonly #wake: Wake;
  readonly #status: SinkStatus;
  readonly #flushDeps: FlushDeps;
  readonly #holdings: Holdings;
  #assignment = new Assignment();
  #waiting = '';
  #paused = false;
  #stopping = false;
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  readonly #end = deferred();

  constructor(deps: WarehouseDeps) {
    const { options } = deps;
    this.#deps = deps;
    this.#limits = { records: options.batchRecords, bytes: options.batchBytes ?? 32_000_000, waitMs: options.maxWaitMs };
    this.#maxBufferedBytes = options.maxBufferedBytes ?? 192_000_000;
    this.#status = createSinkStatus(deps);
    const { store, deadLetters, clock, metrics } = deps;
    this.#holdings = deps.holdings ?? createHoldings(store);
    const holdings = this.#holdings;
    const deadLetterBytes = options.deadLetterBytes ?? DEAD_LETTER_BYTES;
    const { producer } = options;
    const reach = deps.reach ?? reachNothing;
    this.#flushDeps = {
      store,
      holdings,
      deadLetters,
      clock,
      metrics,
      producer,
      deadLetterBytes,
      fenceMs: FENCE_MS,
      fewRows: options.batchRecords,
      reach,
    };
    this.finished = this.#end.promise;
    this.#wake = createWake(clock);
  }

  async start(signal?: AbortSignal): Promise<void> {
    this.#report('starting');
    signal?.addEventListener('abort', () => void this.stop(), { once: true });
    try {
      await patiently(this.#patience(), () => this.#deps.store.query('select 1'));
    } finally {
      signal?.throwIfAborted();
    }
    await this.#deps.group.start({
      group: this.#deps.options.group,
      topics: warehouseTopics,
      onAssigned: (assigned, session) => this.#assign(assigned, session),
      onBatch: (batch, session) => this.#take(batch, session),
      onOutOfRange: ({ topic, partition }) => {
        this.#deps.logger.warn({ topic, partition }, 'the log does not have the position of this partition');
      },
      onError: (error) => {
        this.#onGroupError(error);
      },
    });
    this.#running = this.#run();
    this.#report();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#report();
    this.#assignment.stopReading();
    this.#wake.now();
    await this.#running;
    await this.#deps.group.close();
    this.#end.resolve();
  }

  async #assign(
    assigned: readonly { readonly topic: EventTopic; readonly partitions: readonly number[] }[],
    session: GroupSession,
  ): Promise<readonly Position[]> {
    this.#assignment.end();
    const assignment = new Assignment();
    this.#assignment = assignment;
    this.#resume();
    this.#wake.now();
    const { group, retryMs } = this.#deps.options;
    const patience = this.#patience();
    const pause = (): Promise<void> => patience.pause(retryMs?.max ?? BOUNDS_AGAIN_MS);
    const deps = { ...this.#deps, group, holdings: this.#holdings, pause };
    const starts = await Promise.all(assigned.map((one) => patiently(patience, () => findStart(one, deps))));
    for (const [at, { topic }] of assigned.entries()) {
      const start = starts[at];
      if (start === undefined) continue;
      assignment.add(topic, { ...start, limits: this.#limits });
      this.#noteSkipped(topic, start.committed);
    }
    if (assignment.isOver()) return [];
    assignment.session = session;
    this.#waitFor('');
    this.#wake.now();
    const from = assignment.positions();
    this.#deps.logger.debug({ partitions: assignment.names(), from }, 'partitions assigned');
    assignment.parked().forEach((parked) => {
      this.#noteParked(parked);
    });
    return from;
  }

  #noteParked(parked: Parked | undefined): void {
    if (parked === undefined) return;
    this.#deps.logger.error({ code: 'OFFSETS_OUT_OF_RANGE' }, troubleOf(parked));
    this.#report();
  }

  #noteSkipped(topic: EventTopic, committed: CommittedOffsets): void {
    for (const { partition, metadata } of committed) {
      const skipped = skippedIn(metadata);
      if (skipped === undefined) continue;
      this.#deps.metrics.count('sink_skipped_records_total', { topic }, skipped.to - skipped.from);
      this.#deps.logger.warn(
        { topic, partition, ...skipped },
        'offsets were skipped on request: the log had lost them before they were stored',
      );
    }
  }

  async #take(batch: LogBatch, session: GroupSession): Promise<void> {
    const assignment = this.#assignment;
    const entries: TakenRecord[] = [];
    for (const record of batch.records) {
      const read = this.#read(record, session);
      entries.push(takenOf(read instanceof Promise ? await read : read));
    }
    if (assignment.isOver()) return;
    this.#noteParked(assignment.check(batch));
    if (assignment.isParked(batch.topic, batch.partition)) return;
    const ranges = assignment.ranges(batch.topic, batch.partition);
    // The group refused a commit, but no assignment has followed: records skipped now would never come again.
    if (ranges === undefined) throw new PlatformError('GROUP_FENCED', `taking ${batch.topic}: the partition must be assigned again`);
    assignment.session = session;
    ranges.offer({ entries, nextOffset: batch.nextOffset, endOffset: batch.endOffset }, this.#deps.clock.monotonic());
    if (assignment.buffered().bytes > this.#maxBufferedBytes) this.#pause();
    this.#wake.now();
  }

  #read(record: LogRecord, session: GroupSession): EventRead | Promise<EventRead> {
    const read = this.#deps.reader.read(record);
    return read instanceof Promise ? this.#outwait(read, { record, session }) : read;
  }

  /** The registry may be unavailable; the group must not take this member for dead meanwhile. */
  async #outwait(first: Promise<EventRead>, { record, session }: { record: LogRecord; session: GroupSession }): Promise<EventRead> {
    let attempt: Promise<EventRead> | undefined = first;
    return patiently(this.#patience(), async () => {
      if (attempt === undefined) await session.heartbeat();
      const current = attempt ?? Promise.resolve(this.#deps.reader.read(record));
      attempt = undefined;
      return current;
    });
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopping) {
        if (await this.#round()) continue;
        this.#report();
        await this.#wake.wait(this.#untilDueMs());
      }
      // What cannot be inserted at once stays in the log, and the next start repeats it.
      while (this.#waiting === '' && (await this.#round(true)));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Inserts a pending repeat, or one due range of each partition. Returns false when there was neither. */
  async #round(force = false): Promise<boolean> {
    const assignment = this.#assignment;
    const { session } = assignment;
    if (session === undefined) return false;
    const repeat = assignment.repeat();
    if (repeat !== undefined) {
      const onStored = (): void => {
        assignment.removeRepeat(repeat);
      };
      await this.#store(session, { work: (terms) => this.#readBack(repeat, terms), onStored });
      return true;
    }
    const due = assignment.due(this.#deps.clock.monotonic(), force);
    if (due.length === 0) return false;
    const onStored = (): void => {
      assignment.removeStored(due);
    };
    await this.#store(session, { work: () => bundled(due, this.#limits), onStored });
    return true;
  }

  async #store(
    session: GroupSession,
    {
      work,
      onStored,
    }: { readonly work: (terms: FlushTerms) => Promise<FlushWork<TakenRecord>> | FlushWork<TakenRecord>; readonly onStored: () => void },
  ): Promise<void> {
    const assignment = this.#assignment;
    const terms = { session, patience: this.#patience() };
    try {
      const rows = await flush(await work(terms), terms, this.#flushDeps);
      if (assignment.isOver()) return;
      onStored();
      this.#status.stored(rows);
      if (assignment.buffered().bytes < this.#maxBufferedBytes / 2) this.#resume();
      this.#report();
    } catch (error) {
      if (!isPlatformError(error, 'GROUP_FENCED')) throw error;
      this.#deps.logger.debug({ reason: messageOf(error) }, 'ranges left to the member that has the partitions now');
      assignment.forget();
    }
  }

  #readBack(repeat: Repeat, { session, patience }: FlushTerms): Promise<FlushWork<TakenRecord>> {
    const take = async (record: LogRecord): Promise<TakenRecord> => takenOf(await this.#read(record, session));
    const signal = this.#assignment.reading;
    return patiently(patience, () => readBack(repeat, { log: this.#deps.log, take, signal }));
  }

  #untilDueMs(): number {
    return Math.min(Math.max(this.#assignment.dueAt() - this.#deps.clock.monotonic(), 0), REPORT_MS);
  }

  /** Valid for the current assignment; ends a wait when the sink is stopped. */
  #patience(): Patience {
    const assignment = this.#assignment;
    const { retryMs } = this.#deps.options;
    const alive = (): boolean => !assignment.isOver() && (!this.#stopping || this.#waiting === '');
    return {
      minMs: retryMs?.min ?? 200,
      maxMs: retryMs?.max ?? 5_000,
      alive,
      pause: (ms) => this.#wake.sleep(ms, alive),
      onWaiting: (detail) => {
        this.#waitFor(detail);
      },
    };
  }

  #waitFor(detail: string): void {
    if (detail !== '' && this.#waiting === '' && !this.#stopping) this.#deps.logger.warn({ reason: detail }, 'waiting');
    if (detail === '' && this.#waiting !== '') this.#deps.logger.info({}, 'going on');
    this.#waiting = detail;
    this.#report();
  }

  #onGroupError(error: unknown): void {
    if (isPlatformError(error) && error.retriable) this.#waitFor(messageOf(error));
    else this.#fail(error);
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#deps.group.pause(warehouseTopics);
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#deps.group.resume(warehouseTopics);
  }

  #report(state?: 'starting'): void {
    this.#status.report({
      state: state ?? (this.#stopping ? 'stopping' : undefined),
      waiting: this.#waiting,
      parked: this.#assignment.parked(),
      positions: this.#assignment.behind(),
      buffered: this.#assignment.buffered(),
    });
  }

  #fail(error: unknown): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#assignment.end();
    this.#wake.now();
    this.#status.failed(messageOf(error));
    this.#end.reject(error);
    void this.#deps.group.close().catch(() => undefined);
  }
}

/** The sink of all topics; several with the same group share the partitions. */
export const createWarehouse = (deps: WarehouseDeps): Warehouse => new Sink(deps);
