import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { publishedSchemas, type EventType } from './generated/events.ts';
import { contentId, fullNameOf, latestSchema, subjectOf, topicOf } from './subjects.ts';

describe('subjects', () => {
  it('follow TopicRecordNameStrategy', () => {
    const entry = latestSchema('TurnRecorded');
    expect(fullNameOf(entry)).toBe('turnstream.rollouts.TurnRecorded');
    expect(subjectOf('ns', entry)).toBe('ns.rollouts-turnstream.rollouts.TurnRecorded');
  });

  it('put each type on the topic of its schema', () => {
    for (const { name, topic, schema } of publishedSchemas) {
      expect(topicOf[name]).toBe(topic);
      expect(fullNameOf({ schema })).toBe(`turnstream.${topic.replaceAll('-', '_')}.${name}`);
    }
  });

  it('number the versions of a type from 1 without a gap, oldest first', () => {
    const versions = new Map<EventType, number[]>();
    for (const { name, version } of publishedSchemas) versions.set(name, [...(versions.get(name) ?? []), version]);
    for (const [name, numbers] of versions) {
      expect(numbers, name).toEqual(numbers.map((_, index) => index + 1));
      expect(latestSchema(name).version).toBe(numbers.length);
    }
  });

  it('know no type that was never published', () => {
    expect(() => latestSchema('Nothing' as EventType)).toThrow(RangeError);
  });
});

describe('schema ids from the content', () => {
  it('differ among everything that was published', () => {
    expect(new Set(publishedSchemas.map(({ schema }) => contentId(schema))).size).toBe(publishedSchemas.length);
  });

  it('are positive numbers of 31 bits, the same for the same text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const id = contentId(text);
        expect(Number.isInteger(id) && id > 0 && id <= 0x7fffffff).toBe(true);
        expect(contentId(text)).toBe(id);
      }),
    );
  });

  it('are the first 32 bits of the SHA-256 of the text, with the highest bit cleared', () => {
    const digest = createHash('sha256').update('"int"').digest();
    expect(contentId('"int"')).toBe(digest.readUInt32BE(0) & 0x7fffffff);
  });
});
