// Query and path parameters, with the same rules for every route. They arrive as texts and are converted to the types in the schema of the
// route: numbers, booleans, and lists, which are written as `a,b` or by repeating the parameter. Unknown query parameters are rejected by
// name, even on routes without parameters. Bodies are JSON, which has types of its own: nothing in them is converted.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';

interface ParameterSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
}

const none = { type: 'object', properties: {}, additionalProperties: false } as const;

/** Call it before any route is registered. */
export function watchParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    route.schema ??= {};
    route.schema.querystring ??= none;
    const query = conversionsOf(route.schema.querystring);
    const path = conversionsOf(route.schema.params);
    if (query.length + path.length === 0) return;
    const before = route.preValidation === undefined ? [] : [route.preValidation].flat();
    route.preValidation = [
      async (request: FastifyRequest) => {
        convert(request.query as Record<string, unknown>, query);
        convert(request.params as Record<string, unknown>, path);
      },
      ...before,
    ];
  });
}

/** Names of the query parameters that a route takes. */
export const parametersOf = (request: FastifyRequest): readonly string[] =>
  Object.keys(propertiesOf(request.routeOptions.schema?.querystring));

const propertiesOf = (schema: NonNullable<RouteOptions['schema']>['params']) => (schema as ParameterSchema | undefined)?.properties ?? {};

type Conversion = (given: unknown) => unknown;

/** Without nested repetition, so that a long text takes linear time. */
const NUMERAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** A text that is no number stays as it is, and validation rejects it by name. */
const toNumber: Conversion = (given) => (typeof given === 'string' && NUMERAL.test(given) ? Number(given) : given);

const conversions: Readonly<Record<string, Conversion>> = {
  integer: toNumber,
  number: toNumber,
  boolean: (given) => (given === 'true' || given === 'false' ? given === 'true' : given),
  array: (given) => [given].flat().flatMap((value: unknown) => (typeof value === 'string' ? value.split(',') : [value])),
};

const conversionsOf = (schema: NonNullable<RouteOptions['schema']>['params']): readonly (readonly [string, Conversion])[] =>
  Object.entries(propertiesOf(schema)).flatMap(([name, { type }]) => {
    const conversion = typeof type === 'string' ? conversions[type] : undefined;
    return conversion === undefined ? [] : [[name, conversion] as const];
  });

function convert(values: Record<string, unknown>, of: ReturnType<typeof conversionsOf>): void {
  for (const [name, conversion] of of) if (values[name] !== undefined) values[name] = conversion(values[name]);
}
