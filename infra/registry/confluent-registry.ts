// A client of Confluent's schema registry. Outages are retried a few times and then reported as REGISTRY_UNAVAILABLE, which is retriable;
// rejections are SCHEMA_INVALID and SCHEMA_INCOMPATIBLE with the registry's own message.
import { publishedSchemas } from '../../schemas/generated/events.ts';
import { subjectOf } from '../../schemas/subjects.ts';
import { messageOf, PlatformError } from '../../streams/core/errors.ts';
import type { Logger, RegisteredSchema, SchemaRegistry } from '../../streams/core/ports.ts';
import { pause } from '../lifecycle/waiting.ts';

export interface ConfluentRegistryOptions {
  /** May contain a user and a password. */
  readonly url: string;
  readonly namespace: string;
  readonly logger: Logger;
  readonly timeoutMs?: number;
  /** Waits before the retries, ms; one retry each. */
  readonly retryMs?: readonly number[];
}

const DEFAULT_TIMEOUT_MS = 5_000;
const DEFAULT_RETRY_MS: readonly number[] = [100, 400, 1_500];
const CONTENT_TYPE = 'application/vnd.schemaregistry.v1+json';

export function createConfluentRegistry(options: ConfluentRegistryOptions): SchemaRegistry {
  const subjects = new Subjects(options);
  const idBySchema = new Map<string, number>();
  return {
    async ensurePublished() {
      const configured = new Set<string>();
      for (const entry of publishedSchemas) {
        const subject = subjectOf(options.namespace, entry);
        if (!configured.has(subject)) await subjects.requireFullTransitive(subject);
        configured.add(subject);
        idBySchema.set(entry.schema, await subjects.post(subject, entry.schema));
      }
    },
    idOf(schema) {
      const id = idBySchema.get(schema);
      if (id === undefined) throw new RangeError('the id of a schema was asked for before ensurePublished');
      return id;
    },
    register: (subject, schema) => subjects.register(subject, schema),
    byId: (id) => subjects.byId(id),
    subjects: () => subjects.list(),
    versions: (subject) => subjects.versions(subject),
    close: async () => undefined,
  };
}

class Subjects {
  readonly #client: RestClient;
  readonly #logger: Logger;
  readonly #schemaById = new Map<number, string>();

  constructor(options: ConfluentRegistryOptions) {
    this.#client = createRestClient(options);
    this.#logger = options.logger;
  }

  /** A registry that does not let us set the level keeps its own. */
  async requireFullTransitive(subject: string): Promise<void> {
    try {
      await this.#client.request('PUT', `/config/${encodeURIComponent(subject)}`, { compatibility: 'FULL_TRANSITIVE' });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.retriable) throw error;
      this.#logger.warn({ subject, error: error.message }, 'the schema registry keeps its own compatibility level');
    }
  }

  async post(subject: string, schema: string): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const { id } = expectFields(await this.#client.request('POST', path, { schema }), { id: 'number' }, path);
    this.#schemaById.set(id, schema);
    return id;
  }

  async register(subject: string, schema: string): Promise<RegisteredSchema> {
    const id = await this.post(subject, schema);
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const { version } = expectFields(await this.#client.request('POST', path, { schema }), { version: 'number' }, path);
    return { subject, version, id, schema };
  }

  async byId(id: number): Promise<string | undefined> {
    const known = this.#schemaById.get(id);
    if (known !== undefined) return known;
    const path = `/schemas/ids/${id}`;
    const answer = await this.#client.find(path);
    if (answer === undefined) return undefined;
    const { schema } = expectFields(answer, { schema: 'string' }, path);
    this.#schemaById.set(id, schema);
    return schema;
  }

  async list(): Promise<readonly string[]> {
    return expectList(await this.#client.request('GET', '/subjects'), 'string');
  }

  async versions(subject: string): Promise<readonly RegisteredSchema[]> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    const answer = await this.#client.find(path);
    const versions: RegisteredSchema[] = [];
    for (const version of answer === undefined ? [] : expectList(answer, 'number')) {
      const one = await this.#client.request('GET', `${path}/${version}`);
      versions.push(expectFields(one, { subject: 'string', version: 'number', id: 'number', schema: 'string' }, path));
    }
    return versions;
  }
}

interface RestClient {
  request(method: string, path: string, body?: object): Promise<unknown>;
  /** GET; undefined when the resource does not exist. */
  find(path: string): Promise<unknown>;
}

function createRestClient(options: ConfluentRegistryOptions): RestClient {
  const url = new URL(options.url);
  const headers: Record<string, string> = { accept: CONTENT_TYPE, 'content-type': CONTENT_TYPE };
  if (url.username !== '') {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`;
  }
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;

  async function once(method: string, path: string, body?: object): Promise<unknown> {
    const doing = `${method} ${base}${path}`;
    let response: Response;
    let text: string;
    try {
      const init = {
        method,
        headers,
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      response = await fetch(`${base}${path}`, init);
      text = await response.text();
    } catch (cause) {
      throw new PlatformError('REGISTRY_UNAVAILABLE', `asking the schema registry, ${doing}: ${messageOf(cause)}`, { cause });
    }
    if (response.ok) return parseJson(text, doing);
    throw errorOf(response.status, doing, text);
  }

  async function request(method: string, path: string, body?: object): Promise<unknown> {
    for (const waitMs of options.retryMs ?? DEFAULT_RETRY_MS) {
      try {
        return await once(method, path, body);
      } catch (error) {
        if (!(error instanceof PlatformError) || !error.retriable) throw error;
        await pause(waitMs);
      }
    }
    return once(method, path, body);
  }

  return {
    request,
    async find(path) {
      try {
        return await request('GET', path);
      } catch (error) {
        if (error instanceof PlatformError && error.code === 'SCHEMA_NOT_FOUND') return undefined;
        throw error;
      }
    },
  };
}

function parseJson(text: string, doing: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PlatformError('REGISTRY_UNAVAILABLE', `asking the schema registry, ${doing}: the answer is not JSON`, { cause });
  }
}

function errorOf(status: number, doing: string, text: string): PlatformError {
  const message = `asking the schema registry, ${doing}: ${status} ${text.slice(0, 2_000)}`;
  switch (status) {
    case 401:
    case 403:
      return new PlatformError('CONFIG_INVALID', `${message}. Check the user and password in SCHEMA_REGISTRY_URL`);
    case 404:
      return new PlatformError('SCHEMA_NOT_FOUND', message);
    case 409:
      return new PlatformError('SCHEMA_INCOMPATIBLE', message);
    case 422:
      return new PlatformError('SCHEMA_INVALID', message);
    default:
      return new PlatformError('REGISTRY_UNAVAILABLE', message);
  }
}

interface Kinds {
  readonly string: string;
  readonly number: number;
}

/** A response of another shape does not come from a schema registry. */
function expectFields<S extends Readonly<Record<string, keyof Kinds>>>(
  answer: unknown,
  shape: S,
  path: string,
): { [K in keyof S]: Kinds[S[K]] } {
  const fields = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>;
  const wrong = Object.entries(shape).filter(([name, kind]) => typeof fields[name] !== kind);
  if (wrong.length > 0) {
    throw new PlatformError(
      'REGISTRY_UNAVAILABLE',
      `asking the schema registry, ${path}: the answer has no ${wrong.map(([name]) => name).join(', ')}`,
    );
  }
  return Object.fromEntries(Object.keys(shape).map((name) => [name, fields[name]])) as { [K in keyof S]: Kinds[S[K]] };
}

function expectList<K extends keyof Kinds>(answer: unknown, kind: K): Kinds[K][] {
  if (Array.isArray(answer) && answer.every((item) => typeof item === kind)) return answer as Kinds[K][];
  throw new PlatformError('REGISTRY_UNAVAILABLE', `asking the schema registry: the answer is not a list of ${kind}s`);
}
