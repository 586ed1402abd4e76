// Confluent's Schema Registry REST API, as its clients and deserializers use it, on top of the SchemaRegistry port. Only Avro and only
// FULL_TRANSITIVE; errors use Confluent's format and codes, so that clients understand them.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { FastifyReply } from 'fastify';
import { compatibilityOf } from '../../schemas/compatibility.ts';
import { confluentError, noSchema, noSubject, noVersion, RegistryError } from './registry.errors.ts';
import type { RegisteredSchema, SchemaRegistry } from '../../streams/core/ports.ts';
import { bodyTypes, COMPATIBILITY, configBody, MEDIA_TYPE, registryAnswers, registryQuery, schemaBody } from './registry.schemas.ts';
import { idText } from './route-kit.ts';
import { MOST_INT32 } from './values.ts';

const tags = ['registry'];
const subject = Type.Object({ subject: idText });
const subjectVersion = Type.Object({ subject: idText, version: Type.String({ pattern: '^(latest|-1|[1-9]\\d{0,8})$' }) });
const schemaId = Type.Object({ id: Type.Integer({ minimum: 0, maximum: MOST_INT32 }) });
const write = { scope: 'write' } as const;
const admin = { scope: 'admin' } as const;

type App = Parameters<FastifyPluginAsyncTypebox>[0];
type Registered = RegisteredSchema & { readonly schemaType: 'AVRO' };

/** Lookups that Confluent's API needs beyond the port; each throws Confluent's own error. */
interface RegistryLookup {
  textOf(id: number): Promise<string>;
  usesOf(id: number): Promise<readonly RegisteredSchema[]>;
  versionsOf(subject: string): Promise<readonly RegisteredSchema[]>;
  versionOf(subject: string, version: string): Promise<Registered>;
}

/** Mounted at /registry. */
export const registryRoutes: FastifyPluginAsyncTypebox<{ readonly registry: SchemaRegistry }> = async (app, { registry }) => {
  app.addContentTypeParser(
    bodyTypes.filter((type) => type !== 'application/json'),
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  );
  app.setErrorHandler((error, request, reply) => {
    const answer = confluentError(error);
    if (answer === undefined) throw error;
    return reply
      .code(answer.status)
      .type(MEDIA_TYPE)
      .send({ error_code: answer.errorCode, message: answer.message, request_id: request.id });
  });
  app.addHook('onSend', async (_request, reply: FastifyReply, payload) => {
    // Confluent clients compare the whole media type: no charset after it.
    const ours = String(reply.getHeader('content-type')).startsWith('application/problem+json');
    if (!ours) reply.header('content-type', MEDIA_TYPE);
    return payload;
  });
  const lookup = lookupIn(registry);
  app.get('/', { schema: { hide: true } }, async () => ({}));
  addSchemaRoutes(app, lookup);
  addUseRoutes(app, lookup);
  addVersionRoutes(app, registry, lookup);
  addWriteRoutes(app, registry, lookup);
  addConfigRoutes(app);
};

function addSchemaRoutes(app: App, lookup: RegistryLookup): void {
  app.get(
    '/schemas/types',
    { schema: { tags, operationId: 'listSchemaTypes', summary: 'Schema types', ...registryAnswers.texts, querystring: registryQuery } },
    async () => ['AVRO'],
  );
  app.get(
    '/schemas/ids/:id',
    {
      schema: {
        tags,
        operationId: 'getSchema',
        summary: 'Schema of an id',
        ...registryAnswers.schema,
        params: schemaId,
        querystring: registryQuery,
      },
    },
    async ({ params }) => ({ schema: await lookup.textOf(params.id) }),
  );
  app.get(
    '/schemas/ids/:id/schema',
    {
      schema: {
        tags,
        operationId: 'getSchemaText',
        summary: 'Schema of an id, bare',
        ...registryAnswers.avro,
        params: schemaId,
        querystring: registryQuery,
      },
    },
    async ({ params }) => JSON.parse(await lookup.textOf(params.id)) as unknown,
  );
}

function addUseRoutes(app: App, lookup: RegistryLookup): void {
  app.get(
    '/schemas/ids/:id/subjects',
    {
      schema: {
        tags,
        operationId: 'listSubjectsOfSchema',
        summary: 'Subjects that have the schema of an id',
        ...registryAnswers.texts,
        params: schemaId,
        querystring: registryQuery,
      },
    },
    async ({ params }) => (await lookup.usesOf(params.id)).map((use) => use.subject),
  );
  app.get(
    '/schemas/ids/:id/versions',
    {
      schema: {
        tags,
        operationId: 'listVersionsOfSchema',
        summary: 'Versions that have the schema of an id',
        ...registryAnswers.uses,
        params: schemaId,
        querystring: registryQuery,
      },
    },
    async ({ params }) => (await lookup.usesOf(params.id)).map((use) => ({ subject: use.subject, version: use.version })),
  );
}

function addVersionRoutes(app: App, registry: SchemaRegistry, lookup: RegistryLookup): void {
  app.get(
    '/subjects',
    { schema: { tags, operationId: 'listSubjects', summary: 'Subjects', ...registryAnswers.texts, querystring: registryQuery } },
    async ({ query }) => {
      const { subjectPrefix = '' } = query;
      return (await registry.subjects()).filter((name) => name.startsWith(subjectPrefix));
    },
  );
  app.get(
    '/subjects/:subject/versions',
    {
      schema: {
        tags,
        operationId: 'listSubjectVersions',
        summary: 'Versions of a subject',
        ...registryAnswers.numbers,
        params: subject,
        querystring: registryQuery,
      },
    },
    async ({ params }) => (await lookup.versionsOf(params.subject)).map(({ version }) => version),
  );
  app.get(
    '/subjects/:subject/versions/:version',
    {
      schema: {
        tags,
        operationId: 'getSubjectVersion',
        summary: 'One version of a subject',
        ...registryAnswers.version,
        params: subjectVersion,
        querystring: registryQuery,
      },
    },
    async ({ params }) => lookup.versionOf(params.subject, params.version),
  );
  app.get(
    '/subjects/:subject/versions/:version/schema',
    {
      schema: {
        tags,
        operationId: 'getSubjectVersionText',
        summary: 'Schema of one version, bare',
        ...registryAnswers.avro,
        params: subjectVersion,
        querystring: registryQuery,
      },
    },
    async ({ params }) => JSON.parse((await lookup.versionOf(params.subject, params.version)).schema) as unknown,
  );
}

function addWriteRoutes(app: App, registry: SchemaRegistry, lookup: RegistryLookup): void {
  app.post(
    '/subjects/:subject',
    {
      schema: {
        tags,
        operationId: 'findSchema',
        summary: 'Look a schema up',
        ...registryAnswers.version,
        consumes: [...bodyTypes],
        params: subject,
        querystring: registryQuery,
        body: schemaBody,
      },
    },
    async ({ params, body }) => {
      const found = (await lookup.versionsOf(params.subject)).find((known) => sameSchema(known.schema, body.schema));
      if (found === undefined) throw noSchema('');
      return avro(found);
    },
  );
  app.post(
    '/subjects/:subject/versions',
    {
      config: write,
      schema: {
        tags,
        operationId: 'registerSchema',
        summary: 'Register a version',
        ...registryAnswers.version,
        consumes: [...bodyTypes],
        params: subject,
        querystring: registryQuery,
        body: schemaBody,
      },
    },
    async ({ params, body }) => {
      return avro(await registry.register(params.subject, body.schema));
    },
  );
  app.post(
    '/compatibility/subjects/:subject/versions/:version',
    {
      schema: {
        tags,
        operationId: 'testCompatibility',
        summary: 'Ask whether a schema would be taken',
        ...registryAnswers.compatibility,
        consumes: [...bodyTypes],
        params: subjectVersion,
        querystring: registryQuery,
        body: schemaBody,
      },
    },
    async ({ params, body }) => {
      await lookup.versionOf(params.subject, params.version);
      return judge(body.schema, await registry.versions(params.subject));
    },
  );
}

function addConfigRoutes(app: App): void {
  for (const url of ['/config', '/config/:subject']) {
    const params = url === '/config' ? {} : { params: subject };
    const name = url === '/config' ? 'RegistryConfig' : 'SubjectConfig';
    app.get(
      url,
      {
        schema: {
          tags,
          operationId: `get${name}`,
          summary: 'Compatibility level',
          ...registryAnswers.level,
          querystring: registryQuery,
          ...params,
        },
      },
      async () => ({
        compatibilityLevel: COMPATIBILITY,
      }),
    );
    app.put(
      url,
      {
        config: admin,
        schema: {
          tags,
          operationId: `set${name}`,
          summary: 'Set the compatibility level, which is fixed',
          ...registryAnswers.set,
          consumes: [...bodyTypes],
          querystring: registryQuery,
          body: configBody,
          ...params,
        },
      },
      async () => ({ compatibility: COMPATIBILITY }),
    );
  }
  app.get(
    '/mode',
    { schema: { tags, operationId: 'getRegistryMode', summary: 'Mode', ...registryAnswers.mode, querystring: registryQuery } },
    async () => ({ mode: 'READWRITE' }),
  );
}

function lookupIn(registry: SchemaRegistry): RegistryLookup {
  const lookup: RegistryLookup = {
    async textOf(id) {
      const schema = await registry.byId(id);
      if (schema === undefined) throw noSchema(String(id));
      return schema;
    },
    async usesOf(id) {
      await lookup.textOf(id);
      const all = await Promise.all((await registry.subjects()).map((name) => registry.versions(name)));
      return all.flat().filter((known) => known.id === id);
    },
    async versionsOf(name) {
      const versions = await registry.versions(name);
      if (versions.length === 0) throw noSubject(name);
      return versions;
    },
    async versionOf(name, version) {
      const versions = await lookup.versionsOf(name);
      const newest = version === 'latest' || version === '-1';
      const found = newest ? versions.at(-1) : versions.find((known) => known.version === Number(version));
      if (found === undefined) throw noVersion(version);
      return avro(found);
    },
  };
  return lookup;
}

const avro = (registered: RegisteredSchema): Registered => ({ ...registered, schemaType: 'AVRO' });

/** Checks against every version, whichever is named: compatibility is transitive. */
function judge(
  schema: string,
  versions: readonly RegisteredSchema[],
): { readonly is_compatible: boolean; readonly messages: readonly string[] } {
  const found = compatibilityOf(
    schema,
    versions.map((known) => known.schema),
  );
  if (found.kind === 'invalid') throw new RegistryError(422, 42201, `Input schema is an invalid Avro schema: ${found.reason}`);
  if (found.kind === 'compatible') return { is_compatible: true, messages: [] };
  return { is_compatible: false, messages: [`version ${versions[found.version]?.version ?? 0}: ${found.reason}`] };
}

/** Texts that differ only in whitespace or key order are the same schema. */
function sameSchema(left: string, right: string): boolean {
  return left === right || canonical(left) === canonical(right);
}

function canonical(text: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(text)));
  } catch {
    throw new RegistryError(422, 42201, 'Input schema is an invalid Avro schema: it is not JSON.');
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
