// A schema registry out of one compacted topic: the key of a record is `<subject>/<version>`, its value the registration
// as JSON. What was written last under a key counts, before and after compaction.
//
// - Ids of our own schemas are derived from their text, so any number of processes publish the same records without asking
//   each other. An id that another text has already is passed over.
// - Foreign schemas are registered by one process at a time (the API): two that register different texts under one subject
//   at the same moment would write the same version.
// - Nothing is kept but what the topic says; a restart reads it again.
// - A question is answered by what the topic said when it was asked, or later: whoever registered a schema, here or in another
//   process, may use it at once. Asking whether there is more is one request of a few milliseconds.
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { contentId, subjectOf } from '../../schemas/subjects.ts';
import type { LogReader, LogRecord, RegisteredSchema, SchemaRegistry } from '../../streams/core/ports.ts';
import { assertCompatible, normalised } from './compatibility.ts';

/** The topic that the registry lives in. */
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

  /** The id that the text has already, or the one derived from it, or the next that no other text has. */
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

/** What the topic said when it was last read. */
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

  /** Reads what was written before this call. A read that runs already may have begun too early, so another one follows it. */
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

  /** By version. */
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

/** A record that is none of ours says nothing; the topic may be written by others. */
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
