import { describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { frame } from '../../schemas/framing.ts';
import { contentId, latestSchema } from '../../schemas/subjects.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { LogRecord } from '../../streams/core/ports.ts';
import { heartbeat } from '../testing/log/log-under-test.ts';
import { createEventReader } from './event-reader.ts';

const codec = createCodec();
const { schema } = latestSchema('WorkerHeartbeat');
const { event } = heartbeat('e1');
const bytes = codec.encode('WorkerHeartbeat', event as never);
const recordOf = (value: Buffer | null): LogRecord => ({
  topic: 'rollouts',
  partition: 0,
  offset: 0,
  timestampMs: 0,
  key: null,
  value,
  headers: {},
});

/** The newest schema with one more field, as in a future release of turnstream. */
const later = ((): string => {
  const parsed = JSON.parse(schema) as { fields: unknown[] };
  return JSON.stringify({ ...parsed, fields: [...parsed.fields, { name: 'added', type: 'string', default: 'x' }] });
})();
const laterCodec = createCodec();
laterCodec.learn(4_000, later);

function setup(schemas: ReadonlyMap<number, string> = new Map()) {
  const asked: number[] = [];
  let now = 0;
  const reader = createEventReader(
    createCodec(),
    {
      byId: async (id) => {
        asked.push(id);
        return schemas.get(id);
      },
    },
    { monotonic: () => now },
  );
  return { reader, asked, advance: (ms: number) => void (now += ms) };
}

describe('event reader', () => {
  it('reads known schemas without a lookup', async () => {
    const { reader, asked } = setup();
    expect(await reader.read(recordOf(bytes))).toMatchObject({ ok: true, value: { type: 'WorkerHeartbeat', event: { event_id: 'e1' } } });
    expect(asked).toEqual([]);
  });

  it('learns a later version from the registry, once', async () => {
    const { reader, asked } = setup(new Map([[4_000, later]]));
    const body = Buffer.concat([bytes.subarray(5), Buffer.from([4]), Buffer.from('zz')]);
    for (let count = 0; count < 3; count += 1) {
      expect(await reader.read(recordOf(frame(4_000, body)))).toMatchObject({ ok: true, value: { event: { event_id: 'e1' } } });
    }
    expect(asked).toEqual([4_000]);
  });

  it('tells whether it knows the schema of a record, and then decodes without waiting', async () => {
    const { reader, asked } = setup(new Map([[4_000, later]]));
    const known = recordOf(bytes);
    const unknown = recordOf(frame(4_000, Buffer.concat([bytes.subarray(5), Buffer.from([4]), Buffer.from('zz')])));
    expect([known, recordOf(null), recordOf(Buffer.from('{}')), unknown].map((record) => reader.knows(record))).toEqual([
      ...[true, true, true],
      false,
    ]);
    expect(reader.decode(known)).toMatchObject({ ok: true });
    expect(reader.decode(unknown)).toMatchObject({ ok: false, reason: 'unknown_schema' });
    expect(asked).toEqual([]);
    await reader.read(unknown);
    expect(reader.knows(unknown)).toBe(true);
    expect(reader.decode(unknown)).toMatchObject({ ok: true, value: { event: { event_id: 'e1' } } });
    expect(asked).toEqual([4_000]);
  });

  it('caches for one second that an id is unknown', async () => {
    const { reader, asked, advance } = setup();
    for (let count = 0; count < 5; count += 1) {
      expect(await reader.read(recordOf(frame(9, Buffer.alloc(3))))).toMatchObject({ ok: false, reason: 'unknown_schema' });
    }
    expect(asked).toEqual([9]);
    advance(999);
    await reader.read(recordOf(frame(9, Buffer.alloc(3))));
    expect(asked).toEqual([9]);
    advance(1);
    await reader.read(recordOf(frame(9, Buffer.alloc(3))));
    expect(asked).toEqual([9, 9]);
  });

  it('reads a retried dead letter as soon as its schema is registered, even if its id is cached as unknown', async () => {
    const schemas = new Map<number, string>();
    const { reader, asked } = setup(schemas);
    const value = frame(4_000, Buffer.concat([bytes.subarray(5), Buffer.from([4]), Buffer.from('zz')]));
    const back = { ...recordOf(value), headers: { 'dead-letter-id': Buffer.from('rollouts/0/1') } };
    expect(await reader.read(recordOf(value))).toMatchObject({ ok: false, reason: 'unknown_schema' });
    expect(await reader.read(back)).toMatchObject({ ok: false, reason: 'unknown_schema' });
    schemas.set(4_000, later);
    expect(await reader.read(back)).toMatchObject({ ok: true, value: { event: { event_id: 'e1' } } });
    expect(asked).toEqual([4_000, 4_000, 4_000]);
  });

  it('limits the number of cached unknown ids', async () => {
    const { reader, asked } = setup();
    for (let id = 1; id <= 10_002; id += 1) await reader.read(recordOf(frame(id, Buffer.alloc(1))));
    await reader.read(recordOf(frame(1, Buffer.alloc(1))));
    expect(asked.length).toBe(10_003);
  });

  it('reports foreign and invalid schemas as unknown, and incompatible schemas of turnstream events as incompatible', async () => {
    const narrowed = JSON.stringify({
      type: 'record',
      name: 'WorkerHeartbeat',
      namespace: 'turnstream.rollouts',
      fields: [{ name: 'event_id', type: 'int' }],
    });
    const { reader } = setup(
      new Map([
        [1, '{"type":"record","name":"Other","fields":[]}'],
        [2, narrowed],
        [3, '{'],
      ]),
    );
    const reasons: unknown[] = [];
    for (const id of [1, 2, 3]) reasons.push(await reader.read(recordOf(frame(id, Buffer.alloc(4)))));
    expect(reasons).toMatchObject([{ reason: 'unknown_schema' }, { reason: 'incompatible_schema' }, { reason: 'unknown_schema' }]);
  });

  it.each([
    ['empty', null],
    ['not_framed', Buffer.from('{"json":true}')],
    ['not_framed', Buffer.alloc(0)],
    ['undecodable', frame(contentId(schema), Buffer.from([0xff, 0xff]))],
  ])('returns %s as a reason', async (reason, value) => {
    const { reader } = setup();
    const result = await reader.read(recordOf(value));
    expect(result).toMatchObject({ ok: false, reason });
    expect(result.ok ? '' : result.error.length).toBeGreaterThan(0);
  });

  it('rejects while the registry is unavailable, because the record may be valid', async () => {
    const away = new PlatformError('REGISTRY_UNAVAILABLE', 'away');
    const reader = createEventReader(createCodec(), { byId: () => Promise.reject(away) });
    await expect(reader.read(recordOf(frame(8, Buffer.alloc(2))))).rejects.toBe(away);
  });
});
