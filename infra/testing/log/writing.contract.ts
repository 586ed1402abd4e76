// The contract of logs: what is written can be read.
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { LogBatch, OutgoingEvent } from '../../../streams/core/ports.ts';
import { batchesOf } from '../../../streams/core/read-log.ts';
import { ends, heartbeat, idsOf, readIds, unique, type LogUnderTest } from './log-under-test.ts';

const codec = createCodec();

export function writingContract(backend: string, open: () => Promise<LogUnderTest>): void {
  describe(`log contract: ${backend}: writing`, () => {
    it('returns the position of each event, and reads it back with its headers', async () => {
      const log = await open();
      const writer = await log.writer();
      const from = await ends(log, 'rollouts');
      const ids = Array.from({ length: 25 }, () => unique('e'));
      const appended = await writer.append(ids.map((id) => heartbeat(id)));
      const batches: LogBatch[] = [];
      await log.reader().readToEnd('rollouts', { from, onBatch: (batch) => void batches.push(batch) });
      const records = batches.flatMap((batch) => batch.records);
      for (const [index, id] of ids.entries()) {
        const { partition, offset, topic } = appended[index]!;
        const record = records.find((candidate) => candidate.partition === partition && candidate.offset === offset)!;
        expect(topic).toBe('rollouts');
        expect(record.key?.toString()).toBe(id);
        expect(Object.fromEntries(Object.entries(record.headers).map(([name, value]) => [name, value.toString()]))).toMatchObject({
          ce_id: id,
          ce_type: 'turnstream.rollouts.WorkerHeartbeat',
          ce_specversion: '1.0',
          ce_time: '2025-06-15T15:06:40.123456Z',
          'content-type': 'application/avro',
          'run-id': 'run-a',
          traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        });
        expect(codec.decode(record.value!)).toMatchObject({ ok: true, value: { type: 'WorkerHeartbeat', event: { event_id: id } } });
      }
      expect(records.length).toBe(ids.length);
      await writer.close();
    });

    it('reads what lies before given offsets, of the partitions that are named', async () => {
      const log = await open();
      const raw = (name: string, partition: number) => ({ key: name, value: Buffer.from(name), partition });
      const places = await log.appendRaw(
        'rollouts',
        [0, 0, 0, 1, 1, 2].map((partition, at) => raw(`before-${at}`, partition)),
      );
      const offset = (at: number): number => places[at]!.offset;
      const batches: LogBatch[] = [];
      await log.reader().readToEnd('rollouts', {
        from: new Map([
          [0, offset(0)],
          [1, offset(3)],
        ]),
        to: new Map([
          [0, offset(2)],
          [1, offset(4) + 1_000],
        ]),
        onBatch: (batch) => void batches.push(batch),
      });
      const read = batches.flatMap(({ records }) => records.map(({ partition, value }) => `${partition} ${value?.toString() ?? ''}`));
      expect(read.sort()).toEqual(['0 before-0', '0 before-1', '1 before-3', '1 before-4']);
    });

    it('ends a read with the reason of a signal', async () => {
      const log = await open();
      await (await log.writer()).append([heartbeat(unique('s'))]);
      const ending = new AbortController();
      const read = log.reader().readToEnd('rollouts', {
        signal: ending.signal,
        onBatch: () => {
          ending.abort(new Error('enough of it'));
        },
      });
      await expect(read).rejects.toThrow('enough of it');
      await expect(log.reader().readToEnd('rollouts', { signal: ending.signal, onBatch: () => undefined })).rejects.toThrow('enough of it');
    });

    it('ends a read with the reason of a signal that comes before its first record', async () => {
      const log = await open();
      await (await log.writer()).append([heartbeat(unique('s'))]);
      const ending = new AbortController();
      const read = log.reader().readToEnd('rollouts', { signal: ending.signal, onBatch: () => undefined });
      ending.abort(new Error('enough of it'));
      await expect(read).rejects.toThrow('enough of it');
    });

    it('reads in a loop that may be left, or fail, at any record', async () => {
      const log = await open();
      const from = await ends(log, 'rollouts');
      const ids = Array.from({ length: 12 }, () => unique('l'));
      await (await log.writer()).append(ids.map((id) => heartbeat(id)));
      const loop = async (end: (read: number) => boolean): Promise<string[]> => {
        const batches: LogBatch[] = [];
        for await (const batch of batchesOf(log.reader(), 'rollouts', { from })) {
          batches.push(batch);
          if (end(idsOf(batches).length)) break;
        }
        return idsOf(batches);
      };
      expect(new Set(await loop(() => false))).toEqual(new Set(ids));
      expect((await loop((read) => read > 0)).length).toBeGreaterThan(0);
      const failing = loop(() => {
        throw new Error('the reader gave up');
      });
      await expect(failing).rejects.toThrow('the reader gave up');
    });

    it('keeps the order of a key', async () => {
      const log = await open();
      const writer = await log.writer();
      const ids = Array.from({ length: 60 }, () => unique('o'));
      const sameKey = (id: string): OutgoingEvent => ({ ...heartbeat(id), key: 'one-key' });
      await Promise.all(ids.map((id) => writer.append([sameKey(id)])));
      const read = (await readIds(log, 'rollouts')).filter((id) => ids.includes(id));
      expect(read).toEqual(ids);
      await writer.close();
    });

    it('writes nothing for no events', async () => {
      const log = await open();
      const writer = await log.writer();
      expect(await writer.append([])).toEqual([]);
      await writer.close();
    });

    it('appends raw bytes as they are', async () => {
      const log = await open();
      const from = await ends(log, 'rollouts');
      const raw = { key: Buffer.from([0xff, 0]), value: Buffer.from([9, 8, 7]), headers: { odd: Buffer.from([1]) }, partition: 1 };
      const [at] = await log.appendRaw('rollouts', [raw, { key: null, value: null, partition: 1 }]);
      const batches: LogBatch[] = [];
      await log.reader().readToEnd('rollouts', { from, onBatch: (batch) => void batches.push(batch) });
      const records = batches.flatMap((batch) => batch.records);
      expect(records[0]).toMatchObject({ partition: 1, offset: at!.offset, key: raw.key, value: raw.value, headers: raw.headers });
      expect(records[1]).toMatchObject({ key: null, value: null, headers: {} });
    });
  });
}
