// The ledger is the `training` topic of one run. Every entry carries its position and the hash of the previous entry.
import { createHash } from 'node:crypto';
import { eventTypes, type EventByType, type EventType, type EventTypeOf } from '../../schemas/generated/events.ts';

/** Every event type in the topic is a ledger entry. */
export type LedgerType = EventTypeOf<'training'>;

const ledgerTypes: ReadonlySet<EventType> = new Set(eventTypes.training);

export const isLedgerType = (type: EventType): type is LedgerType => ledgerTypes.has(type);

/** One entry, decoded. */
export type LedgerEntry = { readonly [T in LedgerType]: { readonly type: T; readonly event: EventByType[T] } }[LedgerType];

type Chained = 'event_id' | 'run_id' | 'occurred_at' | 'producer' | 'sequence' | 'previous_sha256';

/** The fields of an entry that do not depend on its place in the chain. */
export type Unchained<T extends LedgerType> = Omit<EventByType[T], Chained>;

/** The previous-entry hash in the first entry. */
export const GENESIS = '0'.repeat(64);

/** SHA-256 (hex) of the Avro body of an entry: the value without its five framing bytes, so the result does not depend on the registry. */
export const entryHash = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

/** Head of the chain: the next sequence number, and the hash that the next entry must carry. */
export interface ChainHead {
  readonly sequence: number;
  readonly previousSha256: string;
}

/** Whether an entry is the next one. */
export const follows = (head: ChainHead, { event }: Pick<LedgerEntry, 'event'>): boolean =>
  event.sequence === head.sequence && event.previous_sha256 === head.previousSha256;

export const emptyChain: ChainHead = { sequence: 0, previousSha256: GENESIS };

export const advance = (head: ChainHead, body: Buffer): ChainHead => ({ sequence: head.sequence + 1, previousSha256: entryHash(body) });
