// The routes of external trainers. The coordinator of a run serves them; the API forwards them to it.
import { Readable } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Coordinator, LeaseAnswer, ReleaseAnswer, RowsRequest } from '../../../streams/leases/coordinator.ts';
import { mediaTypes } from '../rows/encode.ts';
import { parseBatchId } from '../../../streams/leases/lease-book.ts';
import {
  batchParams,
  claimAnswer,
  claimBody,
  commitAnswer,
  commitBody,
  extendAnswer,
  extendBody,
  leaseAnswer,
  leaseBody,
  publishAnswer,
  publishBody,
  releaseAnswer,
  releaseBody,
  rowsHeaders,
  rowsQuery,
} from './leases.schemas.ts';

export interface LeaseRoutesOptions {
  /** Throws COORDINATOR_UNAVAILABLE or NOT_FOUND. `headers` are those of the request. */
  readonly coordinatorOf: (run: string, headers: CallHeaders) => Promise<Coordinator>;
}

type CallHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Size of the rows that are encoded ahead while earlier rows are being sent. */
const READ_AHEAD_BYTES = 1024 * 1024;

const config = { scope: 'train' } as const;
const runParams = Type.Object({ run: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$', description: 'Slug of the run.' }) });
const tags = ['training'];

function runOfBatch(batch: string): string {
  const parsed = parseBatchId(batch);
  if (parsed === undefined) throw new PlatformError('NOT_FOUND', `reading batch ${batch}: its id is not <run>/step/<n>.<try>`);
  return parsed.runId;
}

/** Batch ids contain slashes, which are percent-encoded. The route matches any text, so that validation reports what is wrong with it. */
const BATCH = '/v1/batches/:batch([\\s\\S]+)';

export const leaseRoutes: FastifyPluginAsyncTypebox<LeaseRoutesOptions> = async (app, { coordinatorOf }) => {
  app.post(
    '/v1/runs/:run/trainer',
    {
      config,
      schema: {
        ...{ tags, operationId: 'claimRun', summary: 'Become the trainer of a run; ends the claim before' },
        params: runParams,
        body: claimBody,
        response: { 200: claimAnswer },
      },
    },
    async ({ params, body, headers }) => (await coordinatorOf(params.run, headers)).claim(params.run, body),
  );

  app.post(
    '/v1/runs/:run/batches::lease',
    {
      config,
      schema: {
        ...{ tags, operationId: 'leaseBatch', summary: 'Lease the next batch; 204 when there is none yet' },
        params: runParams,
        body: leaseBody,
        response: { 200: Type.Unsafe<LeaseAnswer>(leaseAnswer), 204: Type.Null({ description: 'Nothing to train on yet.' }) },
      },
    },
    async ({ params, body, headers }, reply) => {
      const gone = new AbortController();
      reply.raw.once('close', () => {
        gone.abort();
      });
      const lease = await (await coordinatorOf(params.run, headers)).lease(params.run, body, gone.signal);
      return lease ?? reply.code(204).header('retry-after', '1').send(null);
    },
  );

  app.post(
    '/v1/runs/:run/policies',
    {
      config,
      schema: {
        ...{ tags, operationId: 'publishPolicy', summary: 'Publish the weights of a committed version, later or elsewhere' },
        ...{ params: runParams, body: publishBody, response: { 200: publishAnswer } },
      },
    },
    async ({ params, body, headers }) => (await coordinatorOf(params.run, headers)).publish(params.run, body),
  );
  await app.register(batchRoutes, { coordinatorOf });
};

const ASKED = { accept: 'accept', ifNoneMatch: 'if-none-match', range: 'range', ifRange: 'if-range' } as const;

const rowsRequest = (headers: CallHeaders, shard: string | undefined): RowsRequest => ({
  ...Object.fromEntries(
    Object.entries(ASKED).flatMap(([name, header]) => (typeof headers[header] === 'string' ? [[name, headers[header]]] : [])),
  ),
  ...(shard === undefined ? {} : { shard }),
});

const batchRoutes: FastifyPluginAsyncTypebox<LeaseRoutesOptions> = async (app, { coordinatorOf }) => {
  const coordinator = (batch: string, headers: CallHeaders): Promise<Coordinator> => coordinatorOf(runOfBatch(batch), headers);

  app.get(
    '/v1/batches/:batch/rows',
    {
      config,
      schema: {
        ...{ tags, operationId: 'readBatchRows', summary: 'The rows of a batch: the same bytes at every read' },
        params: batchParams,
        querystring: rowsQuery,
        headers: rowsHeaders,
        response: {
          200: Type.Unsafe<Readable>(Type.String({ description: 'An Arrow IPC stream, or NDJSON: a row a line.' })),
          206: Type.Unsafe<Readable>(Type.String({ description: 'The range of bytes.' })),
          304: Type.Null({ description: 'You have them.' }),
        },
        produces: Object.values(mediaTypes),
      },
    },
    async ({ params, query, headers }, reply) => {
      const coordinating = await coordinator(params.batch, headers);
      const { status, headers: told, body } = await coordinating.rows(params.batch, rowsRequest(headers, query.shard));
      reply.code(status).headers(told);
      return reply.send(body === undefined ? null : Readable.from(body, { objectMode: false, highWaterMark: READ_AHEAD_BYTES }));
    },
  );

  app.post(
    `${BATCH}::extend`,
    {
      config,
      schema: {
        ...{ tags, operationId: 'extendLease', summary: 'Give a lease its whole time again' },
        ...{ params: batchParams, body: extendBody, response: { 200: extendAnswer } },
      },
    },
    async ({ params, body, headers }) => (await coordinator(params.batch, headers)).extend(params.batch, body),
  );

  app.post(
    `${BATCH}::commit`,
    {
      config,
      schema: {
        ...{ tags, operationId: 'commitBatch', summary: 'Commit what was trained on a batch, once' },
        ...{ params: batchParams, body: commitBody, response: { 200: commitAnswer } },
      },
    },
    async ({ params, body, headers }) => (await coordinator(params.batch, headers)).commit(params.batch, body),
  );

  app.post(
    `${BATCH}::release`,
    {
      config,
      schema: {
        ...{ tags, operationId: 'releaseBatch', summary: 'Give a batch back' },
        ...{ params: batchParams, body: releaseBody, response: { 200: Type.Unsafe<ReleaseAnswer>(releaseAnswer) } },
      },
    },
    async ({ params, body, headers }) => (await coordinator(params.batch, headers)).release(params.batch, body),
  );
};
