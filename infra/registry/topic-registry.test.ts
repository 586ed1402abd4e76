import { describe, expect, it } from 'vitest';
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId, subjectOf } from '../../schemas/subjects.ts';
import type { LogRecord } from '../../streams/core/ports.ts';
import { createTopicRegistry, type SchemaTopic } from './topic-registry.ts';

interface FakeTopic extends SchemaTopic {
  readonly records: LogRecord[];
  reads: number;
  /** Keeps only the newest record of each key, as Kafka eventually does. */
  compact(): void;
  put(key: string | null, value: string | null): void;
}

function createFakeTopic(): FakeTopic {
  let next = 0;
  const topic: FakeTopic = {
    records: [],
    reads: 0,
    put(key, value) {
      const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text));
      topic.records.push({
        topic: 'training',
        partition: 0,
        offset: next,
        timestampMs: 0,
        key: bytes(key),
        value: bytes(value),
        headers: {},
      });
      next += 1;
    },
    async append(records) {
      for (const { key, value } of records) topic.put(key, value.toString());
    },
    async readToEnd({ from, onBatch }) {
      topic.reads += 1;
      const start = from?.get(0) ?? 0;
      const end = next;
      const records = topic.records.filter(({ offset }) => offset >= start);
      await new Promise((resolve) => setImmediate(resolve));
      await onBatch({ topic: 'training', partition: 0, records, nextOffset: end, endOffset: end });
    },
    compact() {
      const newest = new Map(topic.records.map((record) => [record.key?.toString(), record]));
      topic.records.splice(0, topic.records.length, ...newest.values());
    },
  };
  return topic;
}

const record = (fields: readonly unknown[], name = 'R'): string => JSON.stringify({ type: 'record', name, namespace: 'n', fields });
const a = { name: 'a', type: 'string' };
const b = { name: 'b', type: 'int', default: 0 };

function setup() {
  const topic = createFakeTopic();
  return { topic, registry: createTopicRegistry({ topic, namespace: 'ns' }) };
}

describe('a registry in a topic', () => {
  it('publishes all schemas of turnstream once, with ids derived from their text', async () => {
    const { topic, registry } = setup();
    await registry.ensurePublished();
    await registry.ensurePublished();
    expect(topic.records).toHaveLength(publishedSchemas.length);
    for (const entry of publishedSchemas) {
      expect(registry.idOf(entry.schema)).toBe(contentId(entry.schema));
      expect(await registry.byId(contentId(entry.schema))).toBe(entry.schema);
      expect(await registry.versions(subjectOf('ns', entry))).toContainEqual({
        subject: subjectOf('ns', entry),
        version: entry.version,
        id: contentId(entry.schema),
        schema: entry.schema,
      });
    }
    expect(await registry.subjects()).toEqual([...new Set(publishedSchemas.map((entry) => subjectOf('ns', entry)))].sort());
    expect(topic.records[0]?.key?.toString()).toBe(`${subjectOf('ns', publishedSchemas[0]!)}/1`);
  });

  it('writes the same records in several independent processes', async () => {
    const topic = createFakeTopic();
    const registries = [1, 2, 3].map(() => createTopicRegistry({ topic, namespace: 'ns' }));
    await Promise.all(registries.map((registry) => registry.ensurePublished()));
    topic.compact();
    expect(topic.records).toHaveLength(publishedSchemas.length);
    const fresh = createTopicRegistry({ topic, namespace: 'ns' });
    await fresh.ensurePublished();
    expect(topic.records).toHaveLength(publishedSchemas.length);
  });

  it('registers foreign schemas, the same text once, whatever its whitespace', async () => {
    const { registry } = setup();
    const first = await registry.register('s', record([a]));
    expect(first).toEqual({ subject: 's', version: 1, id: contentId(record([a])), schema: record([a]) });
    expect(await registry.register('s', JSON.stringify(JSON.parse(record([a])), null, 2))).toEqual(first);
    const second = await registry.register('s', record([a, b]));
    expect(second.version).toBe(2);
    expect(await registry.versions('s')).toEqual([first, second]);
    expect(await registry.register('other', record([a]))).toMatchObject({ version: 1, id: first.id });
    await registry.close();
  });

  it('performs simultaneous registrations one after the other', async () => {
    const { registry } = setup();
    const registered = await Promise.all([
      registry.register('s', record([a])),
      registry.register('s', record([a, b])),
      registry.register('s', record([a])),
    ]);
    expect(registered.map(({ version }) => version)).toEqual([1, 2, 1]);
  });

  it('refuses an incompatible schema with version and field, and continues', async () => {
    const { registry } = setup();
    await registry.register('s', record([a]));
    await expect(registry.register('s', record([a, { name: 'c', type: 'int' }]))).rejects.toMatchObject({
      code: 'SCHEMA_INCOMPATIBLE',
      message: expect.stringMatching(/under s: it does not fit version 1: field c: /) as string,
      context: { version: 1 },
    });
    await expect(registry.register('s', '{')).rejects.toMatchObject({ code: 'SCHEMA_INVALID' });
    await expect(registry.register('s', '{"type":"nothing"}')).rejects.toMatchObject({ code: 'SCHEMA_INVALID' });
    expect(await registry.register('s', record([a, b]))).toMatchObject({ version: 2 });
  });

  it('skips an id that belongs to another text', async () => {
    const { topic, registry } = setup();
    const schema = record([a]);
    const taken = { subject: 'x', version: 1, id: contentId(schema), schema: record([], 'X') };
    topic.put('x/1', JSON.stringify(taken));
    expect((await registry.register('s', schema)).id).toBe(contentId(schema) + 1);
    expect(registry.idOf(schema)).toBe(contentId(schema) + 1);
  });

  it('publishes its own schema under the next number if a foreign version has its number', async () => {
    const { topic, registry } = setup();
    const entry = publishedSchemas[0]!;
    const subject = subjectOf('ns', entry);
    const foreign = JSON.parse(entry.schema) as { fields: unknown[] };
    foreign.fields.push({ name: 'extra', type: 'string', default: '' });
    topic.put(`${subject}/1`, JSON.stringify({ subject, version: 1, id: 77, schema: JSON.stringify(foreign) }));
    await registry.ensurePublished();
    expect((await registry.versions(subject)).map(({ version, schema }) => [version, schema === entry.schema])).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  it('answers by the content of the topic at the time of the lookup', async () => {
    const { topic, registry } = setup();
    expect(await registry.byId(5)).toBeUndefined();
    // already read for the previous lookup
    const early = registry.byId(6);
    await Promise.resolve();
    topic.put('s/1', JSON.stringify({ subject: 's', version: 1, id: 5, schema: record([a]) }));
    expect(await registry.byId(5)).toBe(record([a]));
    expect(await early).toBeUndefined();
    expect(await registry.subjects()).toEqual(['s']);
    topic.put('s/2', JSON.stringify({ subject: 's', version: 2, id: 6, schema: record([a, b]) }));
    expect((await registry.versions('s')).map(({ id }) => id)).toEqual([5, 6]);
  });

  it('reads the topic once for simultaneous lookups, and not for a known id', async () => {
    const { topic, registry } = setup();
    topic.put('s/1', JSON.stringify({ subject: 's', version: 1, id: 5, schema: record([a]) }));
    expect(await Promise.all([registry.byId(5), registry.byId(6), registry.versions('s')])).toMatchObject([
      record([a]),
      undefined,
      [{ id: 5 }],
    ]);
    expect(topic.reads).toBe(1);
    await registry.byId(5);
    expect(topic.reads).toBe(1);
  });

  it('ignores foreign records', async () => {
    const { topic, registry } = setup();
    for (const value of [null, '', '{', '1', 'null', '{"subject":"s"}', '{"subject":"s","version":1.5,"id":1,"schema":"\\"int\\""}'])
      topic.put('s/1', value);
    expect(await registry.subjects()).toEqual([]);
    expect(registry.idOf('"int"')).toBe(contentId('"int"'));
  });
});
