import { describe, expect, it } from 'vitest';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { outgoing, randomEvent, seeded } from '../../infra/testing/events.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import type { LogBatch, LogReader } from './ports.ts';
import { batchesOf, eventsOf, ofRun, runEvents, runOf } from './read-log.ts';

async function logOf(runs: readonly string[]): Promise<MemoryLog> {
  const log = new MemoryLog({ batchRecords: 2 });
  const random = seeded(1);
  await log
    .writer()
    .append(
      runs.map((run_id, at) =>
        outgoing('PolicyPublished', randomEvent('PolicyPublished', random, { run_id, version: at, event_id: `${at}` })),
      ),
    );
  return log;
}

const sourceOf = (log: MemoryLog, runId: string) => ({ log: log.reader(), events: codecReader(log.codec), runId });

describe('the records of a run', () => {
  it('are those whose header names it, in the order of the log', async () => {
    const log = await logOf(['a', 'b', 'a', 'ab', 'a']);
    const found: number[] = [];
    for await (const read of runEvents(sourceOf(log, 'a'), 'policies')) {
      if (read.ok && read.value.type === 'PolicyPublished') found.push(read.value.event.version);
      expect([runOf(read.record), ofRun('a')(read.record), ofRun('ab')(read.record)]).toEqual(['a', true, false]);
    }
    expect(found).toEqual([0, 2, 4]);
  });
  it('are read from the given offset, and decoded only if wanted', async () => {
    const log = await logOf(['a', 'a', 'b', 'a']);
    let decoded = 0;
    const events = codecReader(log.codec);
    const source = {
      ...sourceOf(log, 'a'),
      events: {
        read(record: Parameters<typeof events.read>[0]) {
          decoded += 1;
          return events.read(record);
        },
      },
    };
    const offsets: number[] = [];
    for await (const { record } of runEvents(source, 'policies', { from: new Map([[0, 1]]), wants: ({ offset }) => offset !== 1 }))
      offsets.push(record.offset);
    expect([offsets, decoded]).toEqual([[3], 1]);
  });
  it('that cannot be decoded are included, with the reason', async () => {
    const log = await logOf(['a']);
    log.appendRaw('policies', [{ key: null, value: Buffer.from('nonsense'), headers: { 'run-id': 'a' } }]);
    const oks: boolean[] = [];
    for await (const { ok } of eventsOf(sourceOf(log, 'a'), 'policies')) oks.push(ok);
    expect(oks).toEqual([true, false]);
  });
});

describe('a loop over batches', () => {
  const batch = (offset: number): LogBatch => ({ topic: 'policies', partition: 0, records: [], nextOffset: offset + 1, endOffset: 9 });

  /** A log that delivers batches until the signal aborts, and records its calls in `said`. */
  function endless(said: string[], failAt = Infinity): Pick<LogReader, 'readToEnd'> {
    return {
      async readToEnd(_topic, { signal, onBatch }) {
        try {
          for (let offset = 0; ; offset += 1) {
            signal?.throwIfAborted();
            if (offset === failAt) throw new Error('the log is away');
            said.push(`give ${offset}`);
            await onBatch(batch(offset));
          }
        } finally {
          said.push('closed');
        }
      },
    };
  }

  it('gets a batch when it is done with the one before, and ends the read when it exits', async () => {
    const said: string[] = [];
    for await (const { nextOffset } of batchesOf(endless(said), 'policies')) {
      said.push(`take ${nextOffset - 1}`);
      await new Promise((resolve) => setImmediate(resolve));
      if (nextOffset === 2) break;
    }
    expect(said).toEqual(['give 0', 'take 0', 'give 1', 'take 1', 'closed']);
  });
  it('rejects with the error of its own body, once the read is closed', async () => {
    const said: string[] = [];
    const reading = (async () => {
      for await (const { nextOffset } of batchesOf(endless(said), 'policies')) throw new Error(`no batch ${nextOffset}`);
    })();
    await expect(reading).rejects.toThrow('no batch 1');
    expect(said).toEqual(['give 0', 'closed']);
  });
  it('rejects with the failure of the log, and with the reason of the signal', async () => {
    const all = async (log: Pick<LogReader, 'readToEnd'>, signal?: AbortSignal): Promise<number> => {
      let batches = 0;
      for await (const _batch of batchesOf(log, 'policies', signal === undefined ? {} : { signal })) batches += 1;
      return batches;
    };
    await expect(all(endless([], 3))).rejects.toThrow('the log is away');
    const ending = new AbortController();
    const reading = all(endless([]), ending.signal);
    ending.abort(new Error('asked to stop'));
    await expect(reading).rejects.toThrow('asked to stop');
  });
});
