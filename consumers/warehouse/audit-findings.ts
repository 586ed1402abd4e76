// The findings of an audit so far, over all topics. They can be exported as plain data and continued in another audit.
import type { EventTopic } from '../../schemas/generated/events.ts';
import type { Parting } from './audit-compare.ts';
import type { Replayed } from './audit-replay.ts';
import type { ColumnDifference } from './audit-rows.ts';
import type { OffsetWindow } from './audit-slices.ts';
import { checksumOf, isEqual, Tallies, type Tally } from './audit-tally.ts';
import { tableNames, type TableName } from './rows/tables.ts';

export interface AuditedTable {
  readonly topic: string;
  readonly partition: number;
  readonly table: TableName;
  readonly logRows: number;
  readonly tableRows: number;
  readonly logChecksum: string;
  readonly tableChecksum: string;
  readonly equal: boolean;
}

export interface AuditDifference {
  /** `missing` and `extra` rows differ in number, `changed` rows in value; `uncovered` = an unreadable record without a dead letter. */
  readonly kind: 'missing' | 'extra' | 'changed' | 'uncovered';
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly table: TableName;
  readonly logRows: number;
  readonly tableRows: number;
  readonly columns: readonly ColumnDifference[];
}

interface ReachedOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** Plain data, stored as JSON. */
export interface AuditState {
  readonly records: number;
  readonly deadLetters: number;
  /** For each partition, the first offset that was not compared yet. */
  readonly reached: readonly ReachedOffset[];
  readonly tallies: readonly Tally[];
  readonly differences: readonly AuditDifference[];
  readonly moreDifferences: boolean;
}

const NOTHING: AuditState = { records: 0, deadLetters: 0, reached: [], tallies: [], differences: [], moreDifferences: false };

export class AuditFindings {
  readonly #limit: number;
  readonly #tallies: Tallies;
  readonly #reached = new Map<string, ReachedOffset>();
  readonly #differences: AuditDifference[];
  #records: number;
  #deadLetters: number;
  #more: boolean;

  /** Continues with `state`; lists at most `limit` differences. */
  constructor(limit: number, state: AuditState = NOTHING) {
    this.#limit = limit;
    this.#tallies = new Tallies(state.tallies);
    for (const place of state.reached) this.#reached.set(`${place.topic}/${place.partition}`, place);
    this.#differences = [...state.differences];
    this.#records = state.records;
    this.#deadLetters = state.deadLetters;
    this.#more = state.moreDifferences;
  }

  get limit(): number {
    return this.#limit;
  }

  get state(): AuditState {
    return {
      records: this.#records,
      deadLetters: this.#deadLetters,
      reached: [...this.#reached.values()],
      tallies: this.#tallies.all(),
      differences: this.#differences,
      moreDifferences: this.#more,
    };
  }

  /** The first offset of a partition that was not compared. */
  reachedIn(topic: string, partition: number): number {
    return this.#reached.get(`${topic}/${partition}`)?.offset ?? 0;
  }

  reach(topic: string, slice: readonly OffsetWindow[]): void {
    for (const { partition, end } of slice) this.#reached.set(`${topic}/${partition}`, { topic, partition, offset: end });
  }

  tally(tally: Tally): void {
    this.#tallies.add(tally);
  }

  /** Sets the tally of rows that belong to no slice. One query counts all of them, so a resumed audit replaces the tally. */
  stray(tally: Tally): void {
    this.#tallies.put(tally);
  }

  tables(): readonly AuditedTable[] {
    return this.#tallies.all().map(auditedTable).sort(inOrder);
  }

  count(topic: EventTopic, { records, deadLetters, uncovered }: Replayed): void {
    this.#records += records;
    this.#deadLetters += deadLetters;
    for (const { partition, offset, reason } of uncovered) {
      const columns = [{ column: 'reason', log: reason, table: '' }];
      const place = { topic, partition, offset, table: 'dead_letter_events' } as const;
      this.name({ kind: 'uncovered', ...place, logRows: 1, tableRows: 0, columns });
    }
  }

  name(difference: AuditDifference): void {
    if (this.#differences.some((known) => isSamePlace(known, difference))) return;
    if (this.#differences.length < this.#limit) this.#differences.push(difference);
    else this.#more = true;
  }
}

/** A resumed audit checks some rows again. */
const isSamePlace = (a: AuditDifference, b: AuditDifference): boolean =>
  a.offset === b.offset && a.partition === b.partition && a.table === b.table && a.topic === b.topic && a.kind === b.kind;

const inOrder = (a: AuditedTable, b: AuditedTable): number =>
  tableNames.indexOf(a.table) - tableNames.indexOf(b.table) || a.topic.localeCompare(b.topic) || a.partition - b.partition;

function auditedTable(tally: Tally): AuditedTable {
  const { topic, partition, table, log, stored } = tally;
  return {
    ...{ topic, partition, table, logRows: log.rows, tableRows: stored.rows },
    ...{ logChecksum: checksumOf(log), tableChecksum: checksumOf(stored), equal: isEqual(tally) },
  };
}

export function kindOf({ logRows, tableRows }: Parting): AuditDifference['kind'] {
  if (logRows === tableRows) return 'changed';
  return logRows > tableRows ? 'missing' : 'extra';
}
