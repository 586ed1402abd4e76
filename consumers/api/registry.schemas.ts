// Requests and responses of the registry routes, in the format that Confluent's clients expect.
import { Type, type TSchema } from 'typebox';

export const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json';
export const bodyTypes = [MEDIA_TYPE, 'application/vnd.schemaregistry+json', 'application/json'] as const;
export const COMPATIBILITY = 'FULL_TRANSITIVE';

const ignored = Type.Optional(Type.String({ maxLength: 100, description: 'Accepted and ignored.' }));

/** The query parameters of Confluent's API. Most have no effect here; any other parameter is rejected. */
export const registryQuery = Type.Object(
  {
    subjectPrefix: Type.Optional(Type.String({ maxLength: 400, description: 'For the list of subjects: only those with this prefix.' })),
    ...{ aliases: ignored, defaultToGlobal: ignored, deleted: ignored, deletedAsNegative: ignored, deletedOnly: ignored },
    ...{ fetchMaxId: ignored, findTags: ignored, force: ignored, format: ignored, latestOnly: ignored, limit: ignored },
    ...{ lookupDeletedSchema: ignored, normalize: ignored, offset: ignored, permanent: ignored, propagateSchemaTags: ignored },
    ...{ referenceFormat: ignored, ruleType: ignored, subject: ignored, tags: ignored, verbose: ignored },
  },
  { additionalProperties: false },
);

export const schemaBody = Type.Object(
  {
    schema: Type.String({ minLength: 1, maxLength: 200_000, description: 'An Avro schema as JSON text.' }),
    schemaType: Type.Optional(Type.Enum(['AVRO'])),
    references: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 0 })),
  },
  { title: 'SchemaInput' },
);
export const configBody = Type.Object({ compatibility: Type.Enum([COMPATIBILITY]) }, { title: 'RegistryConfigChange' });

const failure = Type.Unsafe({
  ...Type.Object({ error_code: Type.Integer(), message: Type.String(), request_id: Type.String() }, { title: 'RegistryError' }),
  'x-response-description': "The error, in Confluent's format or as application/problem+json.",
});

const answer = (schema: TSchema) => ({
  produces: [MEDIA_TYPE],
  response: {
    200: Type.Unsafe({ ...schema, 'x-response-description': 'Success.' }),
    404: failure,
    409: failure,
    422: failure,
    default: failure,
  },
});

const version = { subject: Type.String(), version: Type.Integer() };

/** Response schemas of the routes. */
export const registryAnswers = {
  texts: answer(Type.Array(Type.String())),
  numbers: answer(Type.Array(Type.Integer())),
  uses: answer(Type.Array(Type.Object(version, { title: 'SchemaUse' }))),
  schema: answer(Type.Object({ schema: Type.String() }, { title: 'SchemaText' })),
  avro: answer(Type.Unknown()),
  version: answer(
    Type.Object({ ...version, id: Type.Integer(), schema: Type.String(), schemaType: Type.Enum(['AVRO']) }, { title: 'SchemaVersion' }),
  ),
  compatibility: answer(Type.Object({ is_compatible: Type.Boolean(), messages: Type.Array(Type.String()) }, { title: 'Compatibility' })),
  level: answer(Type.Object({ compatibilityLevel: Type.Enum([COMPATIBILITY]) }, { title: 'RegistryConfig' })),
  set: answer(configBody),
  mode: answer(Type.Object({ mode: Type.Enum(['READWRITE']) }, { title: 'RegistryMode' })),
};
