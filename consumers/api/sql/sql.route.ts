import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Store } from '../../../streams/core/ports.ts';
import { answers, named } from '../columns.ts';
import { readRows } from '../list.ts';
import { isListed } from './catalogue.ts';
import { formatNames, sqlFormats } from './formats.ts';
import { MAX_QUERY_CHARS, type SqlLimits } from './limits.ts';
import { createSandbox } from './sandbox.ts';

const body = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      maxLength: MAX_QUERY_CHARS,
      description: 'One SELECT over the tables of this database, SHOW TABLES, or DESCRIBE with a table.',
    }),
    params: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Values for {name:Type} in the query: texts, numbers, booleans, null, or arrays of these.',
        maxProperties: 200,
      }),
    ),
    format: Type.Enum(formatNames, { default: 'JSON', description: "One of ClickHouse's output formats." }),
  },
  { additionalProperties: false, title: 'SqlQuery' },
);

/** The first is the type of the default format. */
const resultTypes = {
  'application/json': {
    schema: Type.Object({}, { title: 'SqlResult', additionalProperties: true, description: "ClickHouse's JSON or JSONCompact." }),
  },
  ...Object.fromEntries(
    [...new Set(Object.values(sqlFormats).map((type) => type.split(';')[0] ?? type))]
      .filter((type) => type !== 'application/json')
      .map((type) => [
        type,
        { schema: type.startsWith('text/') || type.endsWith('ndjson') ? Type.String() : Type.String({ format: 'binary' }) },
      ]),
  ),
};

interface Options {
  readonly store: Store;
  readonly limits: SqlLimits;
}

const NAME = /^[A-Za-z_]\w{0,62}$/;

/** Checked by hand, so that the message names the value and not the depth of a schema. */
function checkParams(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  for (const [name, value] of Object.entries(params)) {
    if (NAME.test(name) && isBindable(value, 3)) continue;
    throw new PlatformError(
      'REQUEST_INVALID',
      `reading the request: body field params.${name.slice(0, 63)} must have a name of letters, digits, and _, and be a text, a number, a boolean, null, or an array of these`,
    );
  }
  return params;
}

function isBindable(value: unknown, depth: number): boolean {
  if (Array.isArray(value)) return depth > 0 && value.every((item) => isBindable(item, depth - 1));
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** POST /v1/sql and the list of readable tables. */
export const sqlRoutes: FastifyPluginAsyncTypebox<Options> = async (app, { store, limits }) => {
  const sandbox = createSandbox(store, limits);

  app.post(
    '/v1/sql',
    {
      config: { scope: 'sql' },
      schema: {
        tags: ['sql'],
        operationId: 'runSql',
        summary: 'Run one SELECT',
        body,
        response: { 200: { description: 'The result in the requested format.', content: resultTypes } },
      },
    },
    async (request, reply) => {
      const left = new AbortController();
      const abort = (): void => {
        if (!reply.raw.writableEnded)
          left.abort(new PlatformError('REQUEST_INVALID', 'running the query: the client left before the answer'));
      };
      reply.raw.once('close', abort);
      const { query, params, format } = request.body;
      const result = await sandbox.run({ query, params: checkParams(params ?? {}), format, signal: left.signal });
      reply.raw.off('close', abort);
      return reply.type(sqlFormats[format]).send(result);
    },
  );

  app.get(
    '/v1/sql/tables',
    {
      config: { scope: 'sql' },
      schema: {
        tags: ['sql'],
        operationId: 'listTables',
        summary: 'Tables, views and columns that POST /v1/sql can read',
        response: answers(
          named('TableList', {
            items: Type.Array(
              named('Table', {
                table: Type.String(),
                engine: Type.String(),
                columns: Type.Array(named('TableColumn', { name: Type.String(), type: Type.String(), comment: Type.String() })),
              }),
            ),
          }),
        ),
      },
    },
    async () => ({ items: await readTables(store) }),
  );
};

interface SchemaColumn {
  readonly table: string;
  readonly engine: string;
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

async function readTables(store: Store): Promise<readonly object[]> {
  const columns = await readRows<SchemaColumn>(
    store,
    `select columns.table, tables.engine, columns.name, columns.type, columns.comment as comment
     from system.columns as columns
     inner join system.tables as tables on tables.database = columns.database and tables.name = columns.table
     where columns.database = {database:String} and ${isListed('columns.table')}
     order by columns.table, columns.position`,
    { database: store.database },
  );
  const tables = new Map<string, { table: string; engine: string; columns: object[] }>();
  for (const { table, engine, name, type, comment } of columns) {
    const known = tables.get(table) ?? { table, engine, columns: [] };
    known.columns.push({ name, type, comment });
    tables.set(table, known);
  }
  return [...tables.values()];
}
