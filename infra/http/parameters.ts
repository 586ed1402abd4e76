// Query parameters, with the same rules for every route: unknown parameters are rejected by name, even on routes without parameters; a list
// is written as `a,b` or by repeating the parameter.
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';

interface QuerySchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
}

const none = { type: 'object', properties: {}, additionalProperties: false } as const;

/** Call it before any route is registered. */
export function watchParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    route.schema ??= {};
    route.schema.querystring ??= none;
    const lists = listsOf(route);
    if (lists.length === 0) return;
    const before = route.preValidation === undefined ? [] : [route.preValidation].flat();
    route.preValidation = [
      async (request: FastifyRequest) => {
        splitLists(request.query as Record<string, unknown>, lists);
      },
      ...before,
    ];
  });
}

/** Names of the query parameters that a route takes. */
export const parametersOf = (request: FastifyRequest): readonly string[] => Object.keys(propertiesOf(request.routeOptions.schema));

const propertiesOf = (schema: RouteOptions['schema']) => (schema?.querystring as QuerySchema | undefined)?.properties ?? {};

const listsOf = ({ schema }: RouteOptions): readonly string[] =>
  Object.entries(propertiesOf(schema)).flatMap(([name, { type }]) => (type === 'array' ? [name] : []));

function splitLists(query: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const given = query[name];
    if (given !== undefined)
      query[name] = [given].flat().flatMap((value: unknown) => (typeof value === 'string' ? value.split(',') : [value]));
  }
}
