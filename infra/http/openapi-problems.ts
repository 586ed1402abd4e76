// The responses of an operation in the OpenAPI document: its own, and the possible errors.
import { errorCodes } from '../../streams/core/errors.ts';
import { isObject, mapValues, type Components, type SchemaObject } from './openapi-schemas.ts';

const text = { type: 'string' };

const problemSchema: SchemaObject = {
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
      description: 'What is wrong with each parameter.',
      items: {
        type: 'object',
        required: ['parameter', 'message'],
        properties: { parameter: text, message: text },
      },
    },
    restore: {
      type: 'object',
      description: 'LINEAGE_MISMATCH: the version that a trainer is to restore.',
      required: ['version', 'uri', 'sha256', 'format', 'weights'],
      properties: {
        ...{ version: { type: 'integer' }, uri: text, sha256: text, format: text },
        weights: { type: 'string', enum: ['elsewhere', 'in_log', 'unpublished'], description: 'Where they are.' },
      },
    },
  },
};

const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } as const;
const retry = { 'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

const problems: Readonly<Record<string, SchemaObject>> = {
  BadRequest: { description: 'The request does not match this document. `errors` names the parameters.' },
  Unauthenticated: { description: 'An API key is needed.' },
  Forbidden: { description: 'The API key may not do this, or the request came from an origin or host that is not allowed.' },
  NotFound: { description: 'There is no such resource.' },
  Conflict: {
    description:
      'The request conflicts with the current state, such as a cursor with the list that it is sent to, or a trainer with its lease.',
  },
  TooManyRequests: { description: 'Too many requests.', headers: retry },
  Unavailable: { description: 'Kafka or ClickHouse is unavailable at the moment.', headers: retry },
  Failure: { description: 'Any other failure.' },
};

export const problemComponents = {
  schemas: { Problem: problemSchema } as SchemaObject,
  responses: mapValues(problems, (_name, parts) => ({ ...(parts as SchemaObject), content: PROBLEM })),
};

const ref = (name: string): SchemaObject => ({ $ref: `#/components/responses/${name}` });

/** All responses. An operation with its own error format has that in addition to the problem document. */
export function answersOf(path: string, operation: SchemaObject, components: Components): SchemaObject {
  const own = mapValues(operation['responses'], (status, answer) => {
    const content = components.ofAnswer((answer as SchemaObject)['content']);
    const more = /^2/.test(status) ? {} : PROBLEM;
    return Object.keys(content).length === 0 ? answer : { ...(answer as SchemaObject), content: { ...content, ...more } };
  });
  return { ...failuresOf(path, operation), ...own };
}

function failuresOf(path: string, { parameters, tags }: SchemaObject): SchemaObject {
  const named = (name: string): boolean => Array.isArray(parameters) && parameters.some((one) => isObject(one) && one['name'] === name);
  const isTraining = Array.isArray(tags) && tags.includes('training');
  return {
    400: ref('BadRequest'),
    401: ref('Unauthenticated'),
    403: ref('Forbidden'),
    ...(path.includes('{') || named('run') ? { 404: ref('NotFound') } : {}),
    ...(named('cursor') || isTraining ? { 409: ref('Conflict') } : {}),
    429: ref('TooManyRequests'),
    503: ref('Unavailable'),
    default: ref('Failure'),
  };
}
