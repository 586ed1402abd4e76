import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DecodedEvent } from '../../../schemas/codec.ts';
import type { EventByType, EventType } from '../../../schemas/generated/events.ts';
import { topicOf } from '../../../schemas/subjects.ts';
import type { LogRecord, Row } from '../../../streams/core/ports.ts';
import { eventTypes, randomEvent, seeded } from '../../../infra/testing/events.ts';
import { project } from './project.ts';
import { keptTables } from '../keep-figures.ts';
import { tableNames, tablesOf, tableTopics, warehouseTopics, type TableName } from './tables.ts';

const recordOf = (type: EventType): LogRecord => ({
  topic: topicOf[type],
  partition: 3,
  offset: 41,
  timestampMs: 1_767_225_600_123,
  key: null,
  value: null,
  headers: {},
});

function rowsOf<T extends EventType>(type: T, event: EventByType[T]): readonly { readonly table: TableName; readonly row: Row }[] {
  const rows: { table: TableName; row: Row }[] = [];
  project(recordOf(type), { type, event } as unknown as DecodedEvent, (table, row) => rows.push({ table, row }));
  return rows;
}

const droppedBy = (migration: string): readonly string[] =>
  [...migration.matchAll(/^drop table (?:if exists )?(\w+);$/gm)].map(([, name = '']) => name);

/** Columns of every table as the migrations create them, materialized ones left out. */
function tablesOfMigrations(): Map<string, string[]> {
  const folder = join(import.meta.dirname, '../../../infra/clickhouse/migrations');
  const tables = new Map<string, string[]>();
  for (const file of readdirSync(folder).sort()) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const found of text.matchAll(/^create table (\w+) \(\n(.*?)\n\) engine/gms)) {
      const lines = (found[2] ?? '').split('\n').map((line) => line.trim());
      const columns = lines.filter((line) => !line.startsWith('index ') && !/ materialized /.test(line));
      tables.set(
        found[1] ?? '',
        columns.map((line) => line.split(' ')[0] ?? ''),
      );
    }
    for (const found of text.matchAll(/^alter table (\w+)\n(.*?);$/gms)) {
      const added = [...(found[2] ?? '').matchAll(/^ {2}add column (\w+)/gm)].map(([, column = '']) => column);
      tables.set(found[1] ?? '', [...(tables.get(found[1] ?? '') ?? []), ...added]);
    }
    droppedBy(text).forEach((name) => tables.delete(name));
  }
  return tables;
}

/** What stays in the log on purpose: bytes and numbers that nobody selects. */
const notStored: Partial<Record<EventType, readonly string[]>> = {
  TurnRecorded: ['decision'],
  BatchLeased: ['rollouts'],
};

describe('projections', () => {
  const tables = tablesOfMigrations();

  it('fill all tables of the migrations, except those that keepers fill', () => {
    expect([...tables.keys()].sort()).toEqual([...tableNames, ...keptTables].sort());
  });

  it.each(eventTypes)('give %s rows with exactly the columns of their tables', (type) => {
    const random = seeded(7);
    for (let turn = 0; turn < 20; turn += 1) {
      const rows = rowsOf(type, randomEvent(type, random));
      expect(rows.length).toBeGreaterThan(0);
      for (const { table, row } of rows) {
        expect(tableTopics[table]).toBe(topicOf[type]);
        expect(Object.keys(row).sort()).toEqual([...(tables.get(table) ?? [])].sort());
        expect(row).toMatchObject({ _topic: topicOf[type], _partition: 3, _offset: 41, _timestamp: 1_767_225_600_123 });
      }
    }
  });

  it.each(eventTypes)('let every field of %s reach a row', (type) => {
    const random = seeded(11);
    const event = randomEvent(type, random);
    for (const field of Object.keys(event) as (keyof typeof event)[]) {
      const before = JSON.stringify(rowsOf(type, event));
      const changes = Array.from({ length: 30 }, () => ({ ...event, [field]: randomEvent(type, random)[field] }));
      const seen = changes.some((changed) => JSON.stringify(rowsOf(type, changed)) !== before);
      expect(seen || (notStored[type] ?? []).includes(field), field).toBe(true);
    }
  });

  it('cover every topic', () => {
    expect([...warehouseTopics].sort()).toEqual([...new Set(Object.values(topicOf))].sort());
    for (const topic of warehouseTopics) expect(tablesOf(topic).length).toBeGreaterThan(0);
  });
});

describe('turns', () => {
  const turn = (spans: readonly { version: number; tokens: number }[]): Row | undefined =>
    rowsOf('TurnRecorded', randomEvent('TurnRecorded', seeded(1), { policy_spans: spans }))[0]?.row;

  it('has the range of the known versions, and the number of tokens of unknown version', () => {
    expect(
      turn([
        { version: 4, tokens: 10 },
        { version: -1, tokens: 7 },
        { version: 3, tokens: 1 },
      ]),
    ).toMatchObject({
      policy_version_min: 3,
      policy_version_max: 4,
      unknown_tokens: 7,
    });
    expect(turn([{ version: -1, tokens: 7 }])).toMatchObject({ policy_version_min: -1, policy_version_max: -1, unknown_tokens: 7 });
    expect(turn([])).toMatchObject({ policy_version_min: -1, policy_version_max: -1, unknown_tokens: 0 });
  });

  it('writes numbers that JSON cannot represent by name', () => {
    const event = randomEvent('TurnRecorded', seeded(1), { reward: Number.NaN, generation_ms: Infinity, logprobs: [-Infinity, 1] });
    expect(rowsOf('TurnRecorded', event)[0]?.row).toMatchObject({ reward: 'NaN', generation_ms: 'Infinity', logprobs: ['-Infinity', 1] });
  });
});
