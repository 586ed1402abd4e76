import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import { expired, heartbeat } from '../../testing/log/log-under-test.ts';
import { MAX_RECORD_BYTES, messageOf, recordBytes } from './message.ts';
import { chunksOf, SEND_BYTES, type Outgoing } from '../writing/producer.ts';

const context = { codec: createCodec(), namespace: 'ns' };
const at = (micros: number): string => {
  const outgoing = heartbeat('e');
  return messageOf({ ...outgoing, event: { ...outgoing.event, occurred_at: micros } } as OutgoingEvent, context).headers['ce_time'] ?? '';
};

describe('an event as a message', () => {
  it('has the headers of CloudEvents in binary mode', () => {
    const message = messageOf(heartbeat('w/1'), context);
    expect(message).toMatchObject({ topic: 'rollouts', key: 'w/1' });
    expect(message.headers).toEqual({
      ce_specversion: '1.0',
      ce_id: 'w/1',
      ce_type: 'turnstream.rollouts.WorkerHeartbeat',
      ce_source: '/ns/worker%2Fw%201',
      ce_time: '2025-06-15T15:06:40.123456Z',
      'content-type': 'application/avro',
      'run-id': 'run-a',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    });
    expect(messageOf(expired('x', 0), context).headers).not.toHaveProperty('traceparent');
  });

  it('has its time with microsecond precision', () => {
    expect(at(0)).toBe('1970-01-01T00:00:00.000000Z');
    expect(at(7)).toBe('1970-01-01T00:00:00.000007Z');
    expect(at(-1)).toBe('1969-12-31T23:59:59.999999Z');
    expect(at(Number.MAX_SAFE_INTEGER - 1)).toBe('2255-06-05T23:47:34.740990Z');
  });

  it('is refused when no topic would accept it', () => {
    const outgoing = heartbeat('e');
    const large = { ...outgoing, event: { ...outgoing.event, worker_id: 'w'.repeat(MAX_RECORD_BYTES) } } as OutgoingEvent;
    expect(() => messageOf(large, context)).toThrow(expect.objectContaining({ code: 'RECORD_TOO_LARGE' }));
  });

  it('has a size that includes its key, its value, and its headers', () => {
    const bare = recordBytes({ key: null, value: null });
    expect(recordBytes({ key: 'ключ', value: Buffer.alloc(10), headers: { a: 'bc', d: Buffer.alloc(3) } })).toBe(
      bare + 8 + 10 + (1 + 2 + 4) + (1 + 3 + 4),
    );
  });
});

describe('batches to send', () => {
  const outgoing = (bytes: number): Outgoing => ({ topic: 't', key: null, value: null, headers: {}, bytes });

  it('keep the order, lose nothing, are full, and stay within the limit unless a single record is larger', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: SEND_BYTES * 2 })), (sizes) => {
        const records = sizes.map(outgoing);
        const chunks = chunksOf(records);
        expect(chunks.flat()).toEqual(records);
        for (const chunk of chunks) {
          const total = chunk.reduce((sum, { bytes }) => sum + bytes, 0);
          expect(chunk.length === 1 || total <= SEND_BYTES).toBe(true);
        }
        for (const [index, chunk] of chunks.slice(1).entries()) {
          const before = (chunks[index] ?? []).reduce((sum, { bytes }) => sum + bytes, 0);
          expect(before + (chunk[0]?.bytes ?? 0)).toBeGreaterThan(SEND_BYTES);
        }
      }),
    );
  });
});
