// Compares the log with the tables, slice by slice: every committed record is projected into rows again, and both sides must have the same
// number of rows and the same checksum. Differing rows are listed.
//
// Only what the sink had committed when the audit began is compared, so the sink can run meanwhile; the rest is reported as lag. Rows whose
// record was deleted by retention are not compared. Only scratch tables are written, and they are always dropped. After each slice the
// audit reports its state, from which another audit can continue.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { Clock, EventReader, GroupOffsets, LogReader, Store } from '../../streams/core/ports.ts';
import { AuditFindings, type AuditedTable, type AuditState, type AuditDifference } from './audit-findings.ts';
import { coveredRecords, lagOf } from './audit-log.ts';
import type { AuditSources, AuditedTopic } from './audit-replay.ts';
import { createScratch, dropLeftOvers } from './audit-scratch.ts';
import { endsOf, offsetsOf, Pace, sampledSlices, slicesOf, type AuditSample, type OffsetWindow } from './audit-slices.ts';
import { auditSlice, endsIn, lookAside } from './audit-topic.ts';
import { DEAD_LETTER_BYTES } from './dead-letter.step.ts';
import { warehouseTopics } from './rows/tables.ts';

export interface AuditDeps {
  readonly reader: LogReader;
  /** Reads the slices, and may keep shared texts apart; `reader` by default. */
  readonly slices?: LogReader;
  readonly events: EventReader;
  readonly offsets: GroupOffsets;
  readonly store: Store;
  readonly clock: Clock;
  /** Consumer group of the sink, including its namespace. */
  readonly group: string;
  readonly onProgress?: (progress: AuditProgress) => void;
  /** Called after each slice with the state to continue from. */
  readonly onSlice?: (state: AuditState) => Promise<void> | void;
  /** Ends the audit early; the result covers what was compared until then. */
  readonly signal?: AbortSignal;
  readonly options?: AuditOptions;
}

export interface AuditProgress {
  readonly topic: EventTopic;
  /** Compared offsets, over all topics. */
  readonly records: number;
  readonly of: number;
  /** Differences found so far. */
  readonly differences: number;
}

export interface AuditOptions {
  /** Maximum number of differing rows to list, over all tables. */
  readonly differences?: number;
  /** Lag of the sink is not a failure. */
  readonly allowLag?: boolean;
  /** How long to wait for the sink to reach the end that the log had when the audit began. */
  readonly waitMs?: number;
  readonly deadLetterBytes?: number;
  /** Compares only some slices. */
  readonly sample?: AuditSample;
  /** Continues this audit. Not available with a sample. */
  readonly resume?: AuditState;
  /** Records per slice; by default as many as take some seconds. */
  readonly sliceRecords?: number;
}

export interface AuditResult {
  readonly ok: boolean;
  /** False when the audit ended before everything was compared. */
  readonly complete: boolean;
  /** The sample that was compared; null for a full audit. */
  readonly sample: AuditSample | null;
  readonly topics: readonly AuditedTable[];
  readonly differences: readonly AuditDifference[];
  /** More rows differ than are listed. */
  readonly moreDifferences: boolean;
  readonly records: number;
  readonly deadLetters: number;
  /** Records that the sink had not stored when the audit began. */
  readonly lag: readonly { readonly topic: EventTopic; readonly partition: number; readonly records: number }[];
}

const POLL_MS = 100;

/** Returns the findings; throws only when the audit cannot run. */
export async function audit(deps: AuditDeps): Promise<AuditResult> {
  const auditor = new Auditor(deps);
  return auditor.run();
}

interface TopicWindows {
  readonly topic: EventTopic;
  readonly windows: readonly OffsetWindow[];
  /** The drawn slices of a sample. */
  readonly drawn: readonly (readonly OffsetWindow[])[] | undefined;
}

class Auditor {
  readonly #deps: AuditDeps;
  readonly #options: AuditOptions;
  readonly #reading: AuditSources;
  readonly #findings: AuditFindings;
  readonly #pace: Pace;
  readonly #lag: { topic: EventTopic; partition: number; records: number }[] = [];
  #done = 0;
  #of = 0;

  constructor(deps: AuditDeps) {
    const { options = {}, reader, slices = reader, events, store, signal } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#reading = { reader, slices, events, store, signal, deadLetterBytes: options.deadLetterBytes ?? DEAD_LETTER_BYTES };
    this.#findings = new AuditFindings(options.differences ?? 20, options.resume);
    this.#pace = new Pace(options.sliceRecords);
  }

  async run(): Promise<AuditResult> {
    await dropLeftOvers(this.#deps.store, this.#deps.clock.now());
    await this.#awaitSink();
    // All windows are fixed before anything is read: later commits are not part of this audit.
    const plan: TopicWindows[] = [];
    for (const topic of warehouseTopics) plan.push(await this.#plan(topic));
    this.#of = plan.reduce((sum, { windows, drawn }) => sum + offsetsOf(drawn?.flat() ?? windows), 0);
    const complete = await this.#untilStopped(async () => {
      for (const planned of plan) await this.#lookBehind(planned);
      for (const planned of plan) await this.#auditTopic(planned);
    });
    return this.#result(complete);
  }

  /** False when the signal aborted the work. */
  async #untilStopped(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (this.#deps.signal?.aborted === true) return false;
      throw error;
    }
  }

  #result(complete: boolean): AuditResult {
    const { records, deadLetters, moreDifferences } = this.#findings.state;
    const topics = this.#findings.tables();
    const differences = this.#certain();
    const equal = differences.length === 0 && topics.every((table) => table.equal);
    return {
      ok: complete && equal && (this.#lag.length === 0 || this.#options.allowLag === true),
      complete,
      sample: this.#options.sample ?? null,
      ...{ topics, differences, moreDifferences, records, deadLetters },
      lag: this.#lag,
    };
  }

  /** While dead-letters lags, a dead letter that is not in its table may still arrive. */
  #certain(): readonly AuditDifference[] {
    const { differences } = this.#findings.state;
    const lettersLag = this.#lag.some(({ topic }) => topic === 'dead-letters');
    return lettersLag ? differences.filter(({ kind }) => kind !== 'uncovered') : differences;
  }

  async #awaitSink(): Promise<void> {
    const deadlineMs = this.#deps.clock.monotonic() + (this.#options.waitMs ?? 0);
    for (const topic of warehouseTopics) {
      while (this.#deps.clock.monotonic() < deadlineMs) {
        const behind = await lagOf(this.#deps.reader, topic, endsOf(await this.#windows(topic)));
        if (behind.size === 0) break;
        await this.#deps.clock.sleep(POLL_MS);
      }
    }
  }

  async #plan(topic: EventTopic): Promise<TopicWindows> {
    const windows = await this.#windows(topic);
    const { sample } = this.#options;
    return { topic, windows, drawn: sample === undefined ? undefined : [...sampledSlices(windows, sample)] };
  }

  /** Committed offsets that were not compared yet. */
  async #windows(topic: EventTopic): Promise<readonly OffsetWindow[]> {
    const bounds = await this.#deps.reader.bounds(topic);
    const offsets = await this.#deps.offsets.fetch(this.#deps.group, topic);
    return bounds.map(({ partition, first }) => {
      const committed = offsets.find((one) => one.partition === partition)?.offset ?? -1;
      const start = Math.max(first, this.#findings.reachedIn(topic, partition));
      return { partition, first: start, end: Math.max(committed, start) };
    });
  }

  async #lookBehind({ topic, windows }: TopicWindows): Promise<void> {
    const { reader } = this.#deps;
    const committed = endsOf(windows);
    const ends = await endsIn(reader, topic);
    if ([...ends].every(([partition, end]) => end <= (committed.get(partition) ?? 0))) return;
    for (const [partition, records] of await lagOf(reader, topic, committed)) this.#lag.push({ topic, partition, records });
  }

  async #auditTopic({ topic, windows, drawn }: TopicWindows): Promise<void> {
    const { store, clock } = this.#deps;
    const work: AuditedTopic = { topic, covered: await coveredRecords(store, topic), scratch: createScratch(store, clock.now()) };
    try {
      for (const slice of drawn ?? slicesOf(windows, () => this.#pace.size)) await this.#auditSlice(work, slice);
      await lookAside(
        this.#topicDeps(topic),
        work,
        windows.map(({ partition }) => partition),
      );
    } finally {
      await work.scratch.drop();
    }
  }

  async #auditSlice(work: AuditedTopic, slice: readonly OffsetWindow[]): Promise<void> {
    const { clock, onSlice } = this.#deps;
    const began = clock.monotonic();
    await auditSlice(this.#topicDeps(work.topic), work, slice);
    this.#pace.took(clock.monotonic() - began);
    this.#done += offsetsOf(slice);
    this.#tell(work.topic, this.#done);
    this.#findings.reach(work.topic, slice);
    await onSlice?.(this.#findings.state);
  }

  #topicDeps(topic: EventTopic) {
    const before = this.#done;
    const onRecords = (records: number): void => {
      this.#tell(topic, before + records);
    };
    return { reading: this.#reading, findings: this.#findings, pace: this.#pace, onRecords };
  }

  #tell(topic: EventTopic, records: number): void {
    const differences = this.#findings.state.differences.length;
    this.#deps.onProgress?.({ topic, records, of: this.#of, differences });
  }
}
