import { Type } from 'typebox';
import { answers, named } from '../columns.ts';
import { queryOf } from '../list.ts';
import { assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { ledgerChecks } from './ledger-check.fold.ts';
import { checkLedger, ledgerStates } from './ledger-check.reader.ts';
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

const broken = { sequence: Type.Integer(), problem: text };
const check = Type.Enum([...ledgerChecks]);
const checked = named('LedgerCheck', {
  ...{ run_id: text, state: Type.Enum([...ledgerStates]), entries: Type.Integer() },
  checks: Type.Array(Type.Object({ check, checked: Type.Integer(), broken: Type.Union([Type.Object(broken), Type.Null()]) })),
  first_broken: Type.Union([Type.Object({ check, ...broken }), Type.Null()]),
});

const checkText = [
  'What the tables show of the chain: entry numbers without gaps (`sequence`), the start of the run (`start`), one entry for each place in',
  'the chain (`chain`), steps without gaps (`steps`), and published weights with the hash that their step recorded (`weights`).',
  '`incomplete` means that entries are missing and nothing else is wrong. The command `turnstream ledger verify` checks',
  'the hash of each entry, from the log.',
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

  app.get(
    '/v1/runs/:run/ledger/check',
    {
      schema: {
        ...{
          tags: ['runs'],
          operationId: 'checkLedger',
          summary: 'Whether the entries of the ledger form a chain',
          description: checkText,
        },
        ...{ params: runParams, querystring: queryOf({}), response: answers(checked) },
      },
    },
    async ({ params }) => {
      const report = await checkLedger(store, params.run);
      if (report.state === 'none') await assertRun(store, params.run);
      return report;
    },
  );
};
