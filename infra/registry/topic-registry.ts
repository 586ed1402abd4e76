// A schema registry stored in one compacted topic: the key of a record is `<subject>/<version>`, its value the registration as JSON. The
// last record of a key counts, before and after compaction.
//
// - Ids of our own schemas are derived from their text, so any number of processes publish the same records without coordination. An id
// that belongs to another text is skipped.
// - Only one process at a time (the API) registers foreign schemas: two processes that register different texts under one subject at the
// same moment would write the same version.
// - No other state is kept; a restart reads the topic again.
// - A lookup sees everything that was in the topic when it began: a schema is usable as soon as it is registered, in this or another
// process. Checking for new records is one request of a few milliseconds.
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId, subjectOf } from '../../schemas/subjects.ts';
import type { LogReader, LogRecord, RegisteredSchema, SchemaRegistry } from '../../streams/core/ports.ts';
import { assertCompatible, normalised } from './compatibility.ts';

/** The topic of the registry. */
export interface SchemaTopic {
  append(records: readonly { readonly key: string; readonly value: Buffer }[]): Promise<unknown>;
  readToEnd(options: Parameters<LogReader['readToEnd']>[1]): Promise<void>;
}

export interface TopicRegistryOptions {
  readonly topic: SchemaTopic;
  readonly namespace: string;
}

export function createTopicRegistry(options: TopicRegistryOptions): SchemaRegistry {
  const view = new TopicView(options);
  const registrar = new Registrar(options, view);
  return {
    ensurePublished: () => registrar.serially(() => registrar.publish()),
    idOf: (schema) => view.idOf(schema) ?? contentId(schema),
    register: (subject, schema) => registrar.serially(() => registrar.register(subject, schema)),
    async byId(id) {
      if (view.schemaOf(id) === undefined) await view.refresh();
      return view.schemaOf(id);
    },
    async subjects() {
      await view.refresh();
      return view.subjects();
    },
    async versions(subject) {
      await view.refresh();
      return view.versionsOf(subject);
    },
    close: async () => undefined,
  };
}

const MAX_ID = 0x7fffffff;

const nextVersion = (versions: readonly RegisteredSchema[]): number => Math.max(0, ...versions.map(({ version }) => version)) + 1;

/** Writes registrations, one after the other. */
class Registrar {
  readonly #options: TopicRegistryOptions;
  readonly #view: TopicView;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: TopicRegistryOptions, view: TopicView) {
    this.#options = options;
    this.#view = view;
  }

  serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#writing.then(work);
    this.#writing = result.catch(() => undefined);
    return result;
  }

  async publish(): Promise<void> {
    await this.#view.refresh();
    const missing: RegisteredSchema[] = [];
    for (const entry of publishedSchemas) {
      const subject = subjectOf(this.#options.namespace, entry);
      const versions = [...this.#view.versionsOf(subject), ...missing.filter((registered) => registered.subject === subject)];
      if (versions.some(({ schema }) => schema === entry.schema)) continue;
      assertCompatible(subject, entry.schema, versions);
      const taken = versions.some(({ version }) => version === entry.version);
      const version = taken ? nextVersion(versions) : entry.version;
      missing.push({ subject, version, id: this.#freeId(entry.schema, missing), schema: entry.schema });
    }
    await this.#write(missing);
  }

  async register(subject: string, text: string): Promise<RegisteredSchema> {
    const schema = normalised(text);
    await this.#view.refresh();
    const versions = this.#view.versionsOf(subject);
    const existing = versions.find((registered) => registered.schema === schema);
    if (existing !== undefined) return existing;
    assertCompatible(subject, schema, versions);
    const registered = { subject, version: nextVersion(versions), id: this.#freeId(schema, []), schema };
    await this.#write([registered]);
    return registered;
  }

  async #write(registered: readonly RegisteredSchema[]): Promise<void> {
    if (registered.length === 0) return;
    const records = registered.map((schema) => ({
      key: `${schema.subject}/${schema.version}`,
      value: Buffer.from(JSON.stringify(schema)),
    }));
    await this.#options.topic.append(records);
    await this.#view.refresh();
  }

  /** The id of an equal text, or the derived id, or the next free one. */
  #freeId(schema: string, others: readonly RegisteredSchema[]): number {
    let id = this.#view.idOf(schema) ?? contentId(schema);
    const isTaken = (): boolean => {
      const holder = this.#view.schemaOf(id) ?? others.find((other) => other.id === id)?.schema;
      return holder !== undefined && holder !== schema;
    };
    while (isTaken()) id = id === MAX_ID ? 1 : id + 1;
    return id;
  }
}

/** The state of the topic at the last read. */
class TopicView {
  readonly #options: TopicRegistryOptions;
  readonly #bySubject = new Map<string, Map<number, RegisteredSchema>>();
  readonly #byId = new Map<number, string>();
  readonly #idBySchema = new Map<string, number>();
  #position = 0;
  #reading: Promise<void> | undefined;

  constructor(options: TopicRegistryOptions) {
    this.#options = options;
  }

  /** Reads everything written before this call. A read that is already running may have begun too early, so another one follows it. */
  async refresh(): Promise<void> {
    await this.#reading?.catch(() => undefined);
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  subjects(): string[] {
    return [...this.#bySubject.keys()].sort();
  }

  /** Sorted by version. */
  versionsOf(subject: string): RegisteredSchema[] {
    return [...(this.#bySubject.get(subject)?.values() ?? [])].sort((a, b) => a.version - b.version);
  }

  schemaOf(id: number): string | undefined {
    return this.#byId.get(id);
  }

  idOf(schema: string): number | undefined {
    return this.#idBySchema.get(schema);
  }

  async #read(): Promise<void> {
    await this.#options.topic.readToEnd({
      from: new Map([[0, this.#position]]),
      onBatch: (batch) => {
        for (const record of batch.records) this.#apply(record);
        this.#position = batch.nextOffset;
      },
    });
  }

  #apply(record: LogRecord): void {
    const registered = parseRegistered(record);
    if (registered === undefined) return;
    const versions = this.#bySubject.get(registered.subject) ?? new Map<number, RegisteredSchema>();
    versions.set(registered.version, registered);
    this.#bySubject.set(registered.subject, versions);
    this.#byId.set(registered.id, registered.schema);
    this.#idBySchema.set(registered.schema, registered.id);
  }
}

/** Foreign records are ignored; others may write to the topic. */
function parseRegistered({ value }: LogRecord): RegisteredSchema | undefined {
  try {
    const parsed = JSON.parse(value?.toString() ?? 'null') as Partial<RegisteredSchema> | null;
    const { subject, version, id, schema } = parsed ?? {};
    if (typeof subject !== 'string' || typeof schema !== 'string') return undefined;
    return isWhole(version) && isWhole(id) ? { subject, version, id, schema } : undefined;
  } catch {
    return undefined;
  }
}

const isWhole = (value: number | undefined): value is number => Number.isSafeInteger(value);
