// The OpenAPI document: the schemas of the routes in the form that tools expect. Schemas with a title become named components, parameters
// with a default are optional, and every operation lists its errors.
import type { SwaggerOptions } from '@fastify/swagger';
import { answersOf, problemComponents } from './openapi-problems.ts';
import { createComponents, isObject, mapValues, type Components, type SchemaObject } from './openapi-schemas.ts';

const tags = [
  { name: 'runs', description: 'Runs, their steps, and what each step did.' },
  { name: 'rollouts', description: 'Groups, trajectories, turns and tool calls.' },
  { name: 'training', description: 'Batches for a trainer of your own: claim a run, lease, read rows, commit.' },
  { name: 'reports', description: 'Questions about a run that take more than a list.' },
  { name: 'questions', description: 'Questions, accepted and rejected.' },
  { name: 'evaluations', description: 'Evaluations and their scores.' },
  { name: 'sql', description: 'SQL over all tables.' },
  { name: 'live', description: 'Events as they are written.' },
  { name: 'operation', description: 'Health, metrics, and what could not be processed.' },
  { name: 'registry', description: "Schemas, through the REST interface of Confluent's schema registry." },
];

/** OpenAPI 3.1 of every registered route that has a tag. */
export function openapiOptions(version: string): SwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'turnstream',
        version,
        description:
          'Runs, steps, trajectories, turns and tool calls of asynchronous reinforcement learning, with the staleness of every token. ' +
          'Errors are application/problem+json with a code. A request that does not fit this description is 400, and names the parameter.',
        contact: { name: 'turnstream' },
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'Where this document came from.' }],
      tags,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key.' },
        },
      },
      security: [{}, { bearer: [] }, { apiKey: [] }],
    },
    hideUntagged: true,
  };
}

/** The document as clients read it. */
export function finishDocument(document: object): object {
  const { paths, components, ...rest } = document as SchemaObject;
  if (!isObject(paths)) return document;
  const made = createComponents(problemComponents.schemas);
  const finished = mapValues(paths, (path, item) =>
    mapValues(item, (_method, operation) => finishOperation(path, operation as SchemaObject, made)),
  );
  const known = isObject(components) ? components : {};
  return { ...rest, paths: finished, components: { ...known, schemas: made.all(), responses: problemComponents.responses } };
}

function finishOperation(path: string, operation: SchemaObject, components: Components): SchemaObject {
  const { summary, description, parameters, requestBody } = operation;
  return {
    ...operation,
    description: description ?? `${String(summary)}.`,
    ...(Array.isArray(parameters)
      ? { parameters: parameters.map((parameter: SchemaObject) => finishParameter(parameter, components)) }
      : {}),
    ...(isObject(requestBody) ? { requestBody: { ...requestBody, content: components.ofBody(requestBody['content']) } } : {}),
    responses: answersOf(path, operation, components),
  };
}

/** A default makes a parameter optional. A list is `a,b`; the document does not mention that it may also be repeated. */
function finishParameter(parameter: SchemaObject, components: Components): SchemaObject {
  const { schema } = parameter;
  if (!isObject(schema)) return parameter;
  const list = schema['type'] === 'array' ? { style: 'form', explode: false } : {};
  const required = parameter['in'] === 'path' || (parameter['required'] === true && !('default' in schema));
  return { ...parameter, ...list, required, schema: components.name(schema) };
}
