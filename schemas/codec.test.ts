import avro from 'avsc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCodec, type DecodedEvent } from './codec.ts';
import { frame, schemaIdOf } from './framing.ts';
import { publishedSchemas, type EventByType, type EventType } from './generated/events.ts';
import { contentId, fullNameOf, latestSchema } from './subjects.ts';

const parse = (schema: string): avro.Type => avro.Type.forSchema(JSON.parse(schema) as avro.Schema);
const types = [...new Set(publishedSchemas.map(({ name }) => name))];

/** Values as the schema allows them; those of avsc, whose long strings and arrays are kept short. */
const anyEvent = (schema: string): fc.Arbitrary<unknown> => fc.nat().map(() => parse(schema).random());

const codec = createCodec();
const encode = (type: EventType, event: unknown): Buffer => codec.encode(type, event as never);
const randomOf = (schema: string): unknown => parse(schema).random();

describe('codec', () => {
  it.each(types)('gives back every %s that it encoded', (type) => {
    const { schema } = latestSchema(type);
    fc.assert(
      fc.property(anyEvent(schema), (event) => {
        const bytes = encode(type, event);
        expect(schemaIdOf(bytes)).toBe(contentId(schema));
        const decoded = codec.decode(bytes);
        expect(decoded.ok && decoded.value.type).toBe(type);
        // Compared as bytes: a float32 that was read is not the double that was written.
        const again = encode(type, (decoded as { readonly value: DecodedEvent }).value.event);
        expect(again.equals(bytes)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it('knows the type behind an id without decoding', () => {
    expect(codec.typeOfId(contentId(latestSchema('StepCompleted').schema))).toBe('StepCompleted');
    expect(codec.typeOfId(1)).toBeUndefined();
  });

  it('never throws at bytes of any kind', () => {
    const ids = publishedSchemas.map(({ schema }) => contentId(schema));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.option(fc.constantFrom(...ids)), (bytes, id) => {
        const value = id === null ? Buffer.from(bytes) : frame(id, Buffer.from(bytes));
        const result = codec.decode(value);
        if (!result.ok) expect(['not_framed', 'unknown_schema', 'undecodable']).toContain(result.reason);
      }),
    );
  });

  it('says why it cannot read', () => {
    const id = contentId(latestSchema('WorkerHeartbeat').schema);
    expect(codec.decode(Buffer.from('{}'))).toMatchObject({ ok: false, reason: 'not_framed', schemaId: undefined });
    expect(codec.decode(frame(12, Buffer.alloc(1)))).toMatchObject({ ok: false, reason: 'unknown_schema', schemaId: 12 });
    expect(codec.decode(frame(id, Buffer.alloc(1)))).toMatchObject({ ok: false, reason: 'undecodable', schemaId: id });
    const good = encode('WorkerHeartbeat', parse(latestSchema('WorkerHeartbeat').schema).random());
    expect(codec.decode(Buffer.concat([good, Buffer.from([0])]))).toMatchObject({ ok: false, reason: 'undecodable' });
  });

  it('refuses to write what does not fit', () => {
    expect(() => encode('WorkerHeartbeat', { event_id: 1 })).toThrow();
    expect(() => encode('Nothing' as EventType, {})).toThrow(RangeError);
  });

  it('writes the ids of a registry when it is given them, and reads them', () => {
    const ids = new Map(publishedSchemas.map(({ schema }, index) => [schema, index + 1]));
    const registered = createCodec({ idOf: (schema) => ids.get(schema) ?? 0 });
    const event = randomOf(latestSchema('RunFinished').schema) as EventByType['RunFinished'];
    const bytes = registered.encode('RunFinished', event);
    expect(schemaIdOf(bytes)).toBe(ids.get(latestSchema('RunFinished').schema));
    expect(registered.decode(bytes)).toMatchObject({ ok: true, value: { type: 'RunFinished' } });
    expect(codec.decode(bytes)).toMatchObject({ ok: false, reason: 'unknown_schema' });
  });
});

describe('a type that is decoded late', () => {
  const late = createCodec({ late: ['TurnRecorded'] });

  it('is checked at once and decoded when its event is asked for', () => {
    for (let time = 0; time < 30; time += 1) {
      const value = encode('TurnRecorded', randomOf(latestSchema('TurnRecorded').schema));
      const [whole, found] = [codec.decode(value), late.decode(value)];
      if (!whole.ok || !found.ok) throw new Error('it can be read');
      expect(found.value).toMatchObject({ type: 'TurnRecorded', event: whole.value.event });
      expect(found.value.plain?.value).toBe(value);
      expect(found.value.plain?.layout.fields).toContain('trajectory_id');
      expect(late.decode(value.subarray(0, -1))).toMatchObject({ ok: false, reason: 'undecodable' });
      expect(late.decode(Buffer.concat([value, Buffer.alloc(1)]))).toMatchObject({ ok: false, reason: 'undecodable' });
    }
  });

  it('is plain whichever version wrote it', () => {
    for (const { schema } of publishedSchemas.filter(({ name }) => name === 'TurnRecorded')) {
      const value = frame(contentId(schema), parse(schema).toBuffer(randomOf(schema)));
      const [whole, found] = [codec.decode(value), late.decode(value)];
      if (!whole.ok || !found.ok) throw new Error('it can be read');
      expect(found.value.event).toEqual(whole.value.event);
      expect(found.value.plain?.value).toBe(value);
    }
  });

  it('is plain when a later version wrote it that a registry knows', () => {
    const learner = createCodec({ late: ['TurnRecorded'] });
    const newest = JSON.parse(latestSchema('TurnRecorded').schema) as { readonly fields: readonly object[] };
    const later = JSON.stringify({ ...newest, fields: [{ name: 'first', type: 'string', default: '' }, ...newest.fields] });
    const foreign = { type: 'enum', name: 'Mood', symbols: ['good'] };
    const odd = JSON.stringify({ ...newest, fields: [...newest.fields, { name: 'mood', type: foreign, default: 'good' }] });
    for (const [id, schema] of [later, odd].entries()) {
      expect(learner.learn(id + 1, schema)).toBe(true);
      const event = randomOf(schema) as { readonly event_id: string };
      const found = learner.decode(frame(id + 1, parse(schema).toBuffer(event)));
      if (!found.ok) throw new Error('it can be read');
      expect(found.value.event.event_id).toBe(event.event_id);
      expect(found.value.plain).toBeDefined();
    }
  });

  it('is encoded anew when it is not plain; every other type is decoded at once', () => {
    const value = encode('TurnRecorded', { ...(randomOf(latestSchema('TurnRecorded').schema) as object), event_id: 'x' });
    // No UTF-8.
    value[6] = 0xff;
    const found = late.decode(value);
    expect(found).toMatchObject({ ok: true, value: { event: { event_id: '\ufffd' } } });
    const plain = found.ok ? found.value.plain?.value : undefined;
    expect(codec.decode(plain ?? Buffer.alloc(0))).toMatchObject({ ok: true, value: { event: { event_id: '\ufffd' } } });
    const beat = late.decode(encode('WorkerHeartbeat', randomOf(latestSchema('WorkerHeartbeat').schema)));
    expect(beat.ok && beat.value.plain).toBeUndefined();
  });
});

describe('learning the schemas of others', () => {
  const { schema } = latestSchema('WorkerHeartbeat');
  const parsed = JSON.parse(schema) as { readonly name: string; readonly fields: readonly { readonly name: string }[] };

  it('reads a later version of ours', () => {
    const learner = createCodec();
    const later = JSON.stringify({ ...parsed, fields: [{ name: 'first', type: 'int', default: 0 }, ...parsed.fields] });
    expect(learner.learn(5, later)).toBe(true);
    expect(learner.learn(5, later)).toBe(true);
    const event = randomOf(later) as Record<string, unknown>;
    const decoded = learner.decode(frame(5, parse(later).toBuffer(event)));
    expect(decoded).toMatchObject({ ok: true, value: { type: 'WorkerHeartbeat', event: { worker_id: event['worker_id'] } } });
    expect(learner.typeOfId(5)).toBe('WorkerHeartbeat');
  });

  it('remembers one that does not fit, and takes no other types', () => {
    const learner = createCodec();
    const unreadable = JSON.stringify({ ...parsed, fields: [{ name: 'event_id', type: 'int' }] });
    expect(learner.learn(6, unreadable)).toBe(false);
    expect(learner.learn(6, unreadable)).toBe(false);
    expect(learner.typeOfId(6)).toBeUndefined();
    expect(learner.decode(frame(6, Buffer.alloc(1)))).toMatchObject({ ok: false, reason: 'incompatible_schema', schemaId: 6 });
    expect(learner.learn(7, '{"type":"record","name":"Other","fields":[]}')).toBe(false);
    expect(learner.learn(8, '"int"')).toBe(false);
    expect(learner.decode(frame(7, Buffer.alloc(0)))).toMatchObject({ reason: 'unknown_schema' });
  });
});

describe('decoding through a view', () => {
  it('gives the fields of the view alone, and whole events of other types', () => {
    const view = createCodec({ view: { TurnRecorded: ['event_id', 'turn', 'policy_spans'] } });
    const turn = randomOf(latestSchema('TurnRecorded').schema) as EventByType['TurnRecorded'];
    const decoded = view.decode(view.encode('TurnRecorded', turn));
    expect(decoded.ok && Object.keys(decoded.value.event).sort()).toEqual(['event_id', 'policy_spans', 'turn']);
    expect(decoded).toMatchObject({ ok: true, value: { event: { event_id: turn.event_id, turn: turn.turn } } });
    const finished = randomOf(latestSchema('RunFinished').schema) as EventByType['RunFinished'];
    expect(view.decode(view.encode('RunFinished', finished))).toMatchObject({
      ok: true,
      value: { event: { event_id: finished.event_id } },
    });
  });
});

describe('every version ever published', () => {
  const pairs = publishedSchemas.flatMap((written) =>
    publishedSchemas
      .filter(({ name }) => name === written.name)
      .map((read) => ({ name: `${written.name} v${written.version} read as v${read.version}`, written, read })),
  );

  it.each(pairs)('$name', ({ written, read }) => {
    const [writer, reader] = [parse(written.schema), parse(read.schema)];
    const resolver = reader.createResolver(writer);
    fc.assert(
      fc.property(anyEvent(written.schema), (event) => {
        const value: unknown = reader.fromBuffer(writer.toBuffer(event), resolver);
        expect(reader.isValid(value)).toBe(true);
        expect((value as { event_id: string }).event_id).toBe((event as { event_id: string }).event_id);
      }),
      { numRuns: 20 },
    );
  });

  it.each(publishedSchemas.map((entry) => ({ ...entry, title: `${entry.name} v${entry.version}` })))(
    'the codec reads $title',
    ({ name, schema }) => {
      const writer = parse(schema);
      const event = randomOf(schema) as { event_id: string };
      expect(codec.decode(frame(contentId(schema), writer.toBuffer(event)))).toMatchObject({
        ok: true,
        value: { type: name, event: { event_id: event.event_id } },
      });
    },
  );

  it('begins with the four fields that every event has', () => {
    for (const entry of publishedSchemas) {
      const fields = (JSON.parse(entry.schema) as { fields: readonly { name: string }[] }).fields.map(({ name }) => name);
      expect(fields.slice(0, 4), fullNameOf(entry)).toEqual(['event_id', 'run_id', 'occurred_at', 'producer']);
    }
  });
});
