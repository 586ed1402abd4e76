// The tables that the sink writes, according to the projections. Each is filled from a single topic, so that the audit knows where to look.
import { eventTypes, type EventTopic, type EventType } from '../../../schemas/generated/events.ts';
import { projections, type TableName } from './project.ts';

export type { TableName } from './project.ts';

const topics = Object.keys(eventTypes) as readonly EventTopic[];
const typeNames = Object.keys(projections) as readonly EventType[];
const topicOf = (type: EventType): EventTopic | undefined =>
  topics.find((topic) => (eventTypes[topic] as readonly EventType[]).includes(type));

/** The topic that fills each table. */
export const tableTopics = Object.fromEntries(
  typeNames.flatMap((type) => projections[type].tables.map((table) => [table, topicOf(type)])),
) as Readonly<Record<TableName, EventTopic>>;

export const tableNames = Object.keys(tableTopics) as readonly TableName[];

export const warehouseTopics: readonly EventTopic[] = [...new Set(Object.values(tableTopics))];

export const tablesOf = (topic: EventTopic): readonly TableName[] => tableNames.filter((table) => tableTopics[table] === topic);
