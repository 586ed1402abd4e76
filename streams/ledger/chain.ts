// The ledger is the `training` topic of one run. Every entry carries its position and the hash of the one before it.
import { createHash } from 'node:crypto';
import { eventTypes, type EventByType, type EventType, type EventTypeOf } from '../../schemas/generated/events.ts';

/** Whatever the topic holds is an entry of the ledger. */
export type LedgerType = EventTypeOf<'training'>;

const ledgerTypes: ReadonlySet<EventType> = new Set(eventTypes.training);

export const isLedgerType = (type: EventType): type is LedgerType => ledgerTypes.has(type);

/** One entry, decoded. */
export type LedgerEntry = { readonly [T in LedgerType]: { readonly type: T; readonly event: EventByType[T] } }[LedgerType];

/** What the first entry names as the hash of the entry before it. */
export const GENESIS = '0'.repeat(64);

/** SHA-256 (hex) of the Avro body of an entry: the value without its five framing bytes, so registries do not matter. */
export const entryHash = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

/** Where the chain stands: the next sequence number and the hash that the next entry has to name. */
export interface ChainHead {
  readonly sequence: number;
  readonly previousSha256: string;
}

export const emptyChain: ChainHead = { sequence: 0, previousSha256: GENESIS };

export const advance = (head: ChainHead, body: Buffer): ChainHead => ({ sequence: head.sequence + 1, previousSha256: entryHash(body) });
