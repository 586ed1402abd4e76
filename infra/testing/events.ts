// Random valid events of every type, generated from the published schemas, so that a new field is covered immediately. The same seed gives
// the same events.
import type { EventByType, EventType } from '../../schemas/generated/events.ts';
import { latestSchema, topicOf } from '../../schemas/subjects.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import type { Random } from '../../streams/core/random.ts';

interface EventSchemaField {
  readonly name: string;
  readonly type: EventSchema;
}
interface ComplexEventSchema {
  readonly type: EventSchema;
  readonly name?: string;
  readonly fields?: readonly EventSchemaField[];
  readonly items?: EventSchema;
  readonly logicalType?: string;
}
type EventSchema = string | ComplexEventSchema | readonly EventSchema[];

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const whole = (random: Random, below: number): number => Math.floor(random() * below);
export const pick = <T>(random: Random, values: readonly T[]): T => values[whole(random, values.length)] as T;
const hex = (random: Random, length: number): string => Array.from({ length }, () => whole(random, 16).toString(16)).join('');

const words = ['capital', 'río', 'population of 東京', 'a "quoted" name', "it's", 'tab\there', 'line\nbreak', 'back\\slash', '🛰️', 'Bern'];
const sentence = (random: Random): string => Array.from({ length: 1 + whole(random, 12) }, () => pick(random, words)).join(' ');

const strings: Readonly<Record<string, (random: Random) => string>> = {
  run_id: (random) => pick(random, ['run-a', 'run-b']),
  group_id: (random) => `g${whole(random, 20)}`,
  trajectory_id: (random) => `g${whole(random, 20)}.${whole(random, 4)}`,
  question_id: (random) => `q${whole(random, 50)}`,
  evaluation_id: (random) => `e${whole(random, 5)}`,
  worker_id: (random) => `worker-${whole(random, 3)}`,
  producer: (random) => `worker/worker-${whole(random, 3)}`,
  purpose: (random) => pick(random, ['train', 'eval', 'external']),
  tool: (random) => pick(random, ['search', 'access', 'answer', '']),
  status: (random) => pick(random, ['ok', 'error', 'timeout', 'refused']),
  error_type: (random) => pick(random, ['', 'not_found', 'timeout']),
  arguments: (random) => JSON.stringify({ query: sentence(random) }),
  url: (random) => `factbook://country-${whole(random, 264)}`,
  original_topic: (random) => pick(random, ['rollouts', 'tasks', 'training']),
  split: (random) => pick(random, ['train', 'heldout']),
  algorithm: (random) => pick(random, ['grpo', 'reinforce']),
  previous_sha256: (random) => hex(random, 64),
};

const START_MICROS = Date.UTC(2026, 0, 1) * 1_000;
const micros = (random: Random): number => START_MICROS + whole(random, 86_400_000_000);

function stringOf(name: string, random: Random): string {
  const hinted = strings[name];
  if (hinted !== undefined) return hinted(random);
  return name.endsWith('sha256') ? hex(random, 64) : sentence(random);
}

function numberOf(kind: string, name: string, random: Random): number {
  if (kind === 'double' || kind === 'float') return Math.fround((random() - 0.5) * 4);
  if (/version/.test(name)) return whole(random, 12) - 1;
  return whole(random, kind === 'long' ? 100_000_000_000 : 1_000);
}

function primitive(kind: string, name: string, random: Random): unknown {
  switch (kind) {
    case 'null':
      return null;
    case 'boolean':
      return random() < 0.5;
    case 'bytes':
      return Buffer.from(Array.from({ length: whole(random, 40) }, () => whole(random, 256)));
    case 'string':
      return stringOf(name, random);
    default:
      return numberOf(kind, name, random);
  }
}

/** Drops repeated trajectories, because a step lists each of its trajectories once. */
function eachTrajectoryOnce(made: readonly unknown[]): readonly unknown[] {
  const seen = new Set<unknown>();
  return made.filter((one) => {
    const id = typeof one === 'object' && one !== null && 'trajectory_id' in one ? one.trajectory_id : undefined;
    if (id === undefined) return true;
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew;
  });
}

const isUnion = (schema: EventSchema): schema is readonly EventSchema[] => Array.isArray(schema);

function walker(random: Random) {
  const named = new Map<string, ComplexEventSchema>();
  function record(schema: ComplexEventSchema): Record<string, unknown> {
    if (schema.name !== undefined) named.set(schema.name, schema);
    return Object.fromEntries((schema.fields ?? []).map((field) => [field.name, value(field.type, field.name)]));
  }
  function value(schema: EventSchema, name: string): unknown {
    if (isUnion(schema)) return value(pick(random, schema), name);
    if (typeof schema === 'string') {
      const known = named.get(schema);
      return known === undefined ? primitive(schema, name, random) : record(known);
    }
    if (schema.type === 'record') return record(schema);
    if (schema.type === 'array') {
      const made = Array.from({ length: whole(random, 4) }, () => value(schema.items ?? 'null', name));
      if (typeof schema.items === 'object') remember(schema.items);
      return eachTrajectoryOnce(made);
    }
    return schema.logicalType === 'timestamp-micros' ? micros(random) : value(schema.type, name);
  }
  function remember(schema: EventSchema): void {
    if (!isUnion(schema) && typeof schema === 'object' && schema.name !== undefined) named.set(schema.name, schema);
  }
  return record;
}

/** A valid event of the type; `overrides` replace whole fields. */
export function randomEvent<T extends EventType>(type: T, random: Random, overrides: Partial<EventByType[T]> = {}): EventByType[T] {
  const schema = JSON.parse(latestSchema(type).schema) as ComplexEventSchema;
  const event = walker(random)(schema) as unknown as EventByType[T];
  return { ...event, event_id: `${type}/${hex(random, 16)}`, ...overrides };
}

const keyFields: Readonly<Record<(typeof topicOf)[EventType], string>> = {
  questions: 'question_id',
  tasks: 'trajectory_id',
  rollouts: 'group_id',
  training: 'run_id',
  policies: 'run_id',
  evaluations: 'evaluation_id',
  'dead-letters': 'original_topic',
};

/** The event with its partition key. */
export function outgoing<T extends EventType>(type: T, event: EventByType[T]): OutgoingEvent {
  const fields = event as unknown as Readonly<Record<string, unknown>>;
  const key = fields[keyFields[topicOf[type]]] ?? fields['worker_id'];
  return { type, key: String(key), event } as unknown as OutgoingEvent;
}

export const eventTypes = Object.keys(topicOf) as readonly EventType[];

/** `count` events of random types, or of `types` only. */
export function randomEvents(count: number, random: Random, types: readonly EventType[] = eventTypes): readonly OutgoingEvent[] {
  return Array.from({ length: count }, () => {
    const type = pick(random, types);
    return outgoing(type, randomEvent(type, random));
  });
}
