// The answers of an operation in the OpenAPI document: its own, and the errors that can take their place.
import { errorCodes } from '../../streams/core/errors.ts';
import { isObject, mapValues, type Components, type Json } from './openapi-schemas.ts';

const text = { type: 'string' };

const problemSchema: Json = {
  type: 'object',
  description: 'An error as in RFC 9457.',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What was being done and what is wrong.' },
    code: { type: 'string', enum: Object.keys(errorCodes) },
    request_id: { type: 'string', description: 'The log has the request under this id.' },
    errors: {
      type: 'array',
      description: 'What is wrong where.',
      items: {
        type: 'object',
        required: ['parameter', 'message'],
        properties: { parameter: text, message: text },
      },
    },
  },
};

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } as const;
const retry = { 'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

const problems: Readonly<Record<string, Json>> = {
  BadRequest: { description: 'The request does not fit the description. `errors` names the parameters.' },
  Unauthenticated: { description: 'An API key is needed.' },
  Forbidden: { description: 'The API key may not do this, or the request came from where it may not come from.' },
  NotFound: { description: 'There is no such resource.' },
  Conflict: { description: 'The request conflicts with what is there; a cursor with the list that it is sent to.' },
  TooManyRequests: { description: 'Too many requests.', headers: retry },
  Unavailable: { description: 'Kafka or ClickHouse does not answer now.', headers: retry },
  Failure: { description: 'Any other failure.' },
};

export const problemComponents = {
  schemas: { Problem: problemSchema } as Json,
  responses: mapValues(problems, (_name, parts) => ({ ...(parts as Json), content: PROBLEM })),
};

const ref = (name: string): Json => ({ $ref: `#/components/responses/${name}` });

/** Every answer. An operation that tells of a failure of its own shape has that beside the problem. */
export function answersOf(path: string, operation: Json, components: Components): Json {
  const own = mapValues(operation['responses'], (status, answer) => {
    const content = components.ofAnswer((answer as Json)['content']);
    const more = /^2/.test(status) ? {} : PROBLEM;
    return Object.keys(content).length === 0 ? answer : { ...(answer as Json), content: { ...content, ...more } };
  });
  return { ...failuresOf(path, operation), ...own };
}

function failuresOf(path: string, { parameters }: Json): Json {
  const named = (name: string): boolean => Array.isArray(parameters) && parameters.some((one) => isObject(one) && one['name'] === name);
  return {
    400: ref('BadRequest'),
    401: ref('Unauthenticated'),
    403: ref('Forbidden'),
    ...(path.includes('{') || named('run') ? { 404: ref('NotFound') } : {}),
    ...(named('cursor') ? { 409: ref('Conflict') } : {}),
    429: ref('TooManyRequests'),
    503: ref('Unavailable'),
    default: ref('Failure'),
  };
}
