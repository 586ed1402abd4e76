import { Type } from 'typebox';
import { answers, named } from '../columns.ts';
import { queryOf } from '../list.ts';
import { assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { readLedger } from './ledger.reader.ts';

const text = Type.String();
const maybe = Type.Union([Type.Integer(), Type.Null()]);
const end = Type.Object({ step: Type.Integer(), batch_sha256: text, weights_sha256: text, optimizer_sha256: text, previous_sha256: text });
const difference = Type.Object({
  ...{ step: Type.Integer(), batch_sha256: text, other_batch_sha256: text },
  ...{ weights_sha256: text, other_weights_sha256: text },
});

const schema = named('Ledger', {
  ...{ run_id: text, entries: Type.Integer(), last_sequence: Type.Integer(), missing: Type.Integer() },
  last_step: Type.Union([end, Type.Null()]),
  ...{ with: Type.Union([text, Type.Null()]), shared_steps: maybe, first_difference: Type.Union([difference, Type.Null()]) },
});

const description = [
  'How many entries of the ledger the tables have, how many sequence numbers are missing, and the hashes of the last step. With `with`',
  'also the first step after which the weights of two runs differ; null when they are the same at every step that both have. The chain',
  'of hashes itself is checked from the log: `turnstream ledger verify`.',
].join(' ');

/** The ledger of a run. */
export const ledgerRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/ledger',
    {
      schema: {
        ...{ tags: ['runs'], operationId: 'getLedger', summary: 'Entries of the ledger, and where two runs first differ', description },
        params: runParams,
        querystring: queryOf({ with: Type.Optional(runParams.properties.run) }),
        response: answers(schema),
      },
    },
    async ({ params, query }) => {
      await Promise.all([params.run, ...(query.with === undefined ? [] : [query.with])].map((run) => assertRun(store, run)));
      return readLedger(store, params.run, query.with);
    },
  );
};
