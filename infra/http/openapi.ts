import type { SwaggerOptions } from '@fastify/swagger';

/** OpenAPI 3.1 of every registered route; operations without an answer of their own get the problem of RFC 9457. */
export function openapiOptions(version: string): SwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'turnstream',
        version,
        description:
          'Runs, steps, trajectories, turns and tool calls of asynchronous reinforcement learning, with the staleness of every token. ' +
          'Errors are application/problem+json with a code.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        },
      },
      security: [{}, { bearer: [] }, { apiKey: [] }],
    },
    hideUntagged: true,
  };
}

type Json = Readonly<Record<string, unknown>>;

const problem: Json = {
  description: 'The request failed.',
  content: {
    'application/problem+json': {
      schema: {
        type: 'object',
        required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
        properties: {
          type: { type: 'string' },
          title: { type: 'string' },
          status: { type: 'integer' },
          detail: { type: 'string' },
          code: { type: 'string' },
          request_id: { type: 'string' },
          errors: {
            type: 'array',
            items: {
              type: 'object',
              required: ['parameter', 'message'],
              properties: { parameter: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
      },
    },
  },
};

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** The document as clients see it: the default answer of every operation is a problem, and each has a name for generated code. */
export function withProblems(document: object): object {
  const { paths, ...rest } = document as Json;
  if (!isObject(paths)) return document;
  const mapped = Object.entries(paths).map(([path, item]) => [path, isObject(item) ? withDefaults(path, item) : item]);
  return { ...rest, paths: Object.fromEntries(mapped) as Json };
}

/** get /v1/runs/{run}/steps is getRunsByRunSteps. */
function operationId(method: string, path: string): string {
  const words = path
    .replace(/^\/v1\//, '/')
    .replaceAll('{', 'by/')
    .split(/[^a-zA-Z0-9]+/);
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function withDefaults(path: string, item: Json): Json {
  const operations = Object.entries(item).map(([method, operation]) => {
    if (!isObject(operation)) return [method, operation];
    const responses = isObject(operation['responses']) ? operation['responses'] : {};
    return [method, { operationId: operationId(method, path), ...operation, responses: { ...responses, default: problem } }];
  });
  return Object.fromEntries(operations) as Json;
}
