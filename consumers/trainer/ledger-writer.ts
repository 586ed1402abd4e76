// Gives ledger entries their place in the chain. One writer makes the events of one transaction; the chain of the
// state moves only when those events are folded back after the commit.
import { bodyOf } from '../../schemas/framing.ts';
import type { Codec } from '../../schemas/codec.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { ledgerEventId } from '../../streams/core/ids.ts';
import { advance, type ChainHead, type LedgerEntry, type LedgerType, type Unchained } from '../../streams/ledger/chain.ts';

interface WrittenEntry {
  readonly entry: LedgerEntry;
  readonly body: Buffer;
}

export interface LedgerWriter {
  add<T extends LedgerType>(type: T, fields: Unchained<T>): void;
  readonly written: readonly WrittenEntry[];
  /** The entries as events to be sent, in order. */
  events(): readonly OutgoingEvent[];
}

export interface Author {
  readonly runId: string;
  readonly producer: string;
  readonly codec: Codec;
  /** Micros. */
  readonly now: () => number;
}

export function createLedgerWriter(author: Author, head: ChainHead): LedgerWriter {
  const written: WrittenEntry[] = [];
  let chain = head;
  return {
    written,
    add(type, fields) {
      const event = {
        event_id: ledgerEventId(author.runId, chain.sequence),
        run_id: author.runId,
        occurred_at: author.now(),
        producer: author.producer,
        sequence: chain.sequence,
        previous_sha256: chain.previousSha256,
        ...fields,
      };
      const entry = { type, event } as unknown as LedgerEntry;
      const body = bodyOf(author.codec.encode(entry.type, entry.event));
      chain = advance(chain, body);
      written.push({ entry, body });
    },
    events: () => written.map(({ entry }) => ({ type: entry.type, key: author.runId, event: entry.event }) as OutgoingEvent),
  };
}
