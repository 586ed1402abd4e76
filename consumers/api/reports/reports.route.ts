// Reports that answer more complex questions about a run. The statements are in reports.sql.ts and in the guide.
import { Type } from 'typebox';
import { answers, named, schemaOf, type ColumnKinds } from '../columns.ts';
import { listOf, queryOf } from '../list.ts';
import { allButEvaluations, allPurposes, assertRun, pageOfRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { compareColumns, costColumns, lengthColumns, runQuestionColumns, wallClockColumns, workerColumns } from './reports.columns.ts';
import { listCosts, listRunQuestions, readComparison, readLengths, readWallClock } from './reports.reader.ts';
import { readWorkers } from './workers.reader.ts';

const tags = ['reports'];
const step = (fallback: number) => Type.Integer({ minimum: 0, maximum: MOST_INT32, default: fallback });
/** A comma-separated string and not an array, because earlier releases took only one run. */
const otherRuns = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,62}(?:,[a-z0-9][a-z0-9-]{0,62}){0,4}$',
  description: 'Slugs of one to five other runs, separated by commas.',
});
const least = Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_INT32 }));
const items = (name: string, columns: ColumnKinds) => answers(named(`${name}List`, { items: Type.Array(schemaOf(name, columns)) }));
const questions = listOf('RunQuestion', runQuestionColumns);
const costs = listOf('Cost', costColumns);

const lengthReport = named('LengthReport', {
  items: Type.Array(schemaOf('Length', lengthColumns)),
  by_length: Type.Number(),
  at_same_length: Type.Number(),
});

/** Reports on the rollouts of a run. */
export const rolloutReportRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/lengths',
    {
      schema: {
        tags,
        operationId: 'getLengths',
        summary: 'Reward by length, early and late in the run: how much of its change is due to changed lengths, and how much is not',
        params: runParams,
        querystring: queryOf({ purpose: allButEvaluations }),
        response: answers(lengthReport),
      },
    },
    async ({ params, query }) => {
      const report = await readLengths(store, { ...params, purpose: query.purpose });
      if (report.items.length === 0) await assertRun(store, params.run);
      return report;
    },
  );

  app.get(
    '/v1/runs/:run/workers',
    {
      schema: {
        tags,
        operationId: 'listWorkers',
        summary: 'Comparison of workers, the worst first',
        params: runParams,
        querystring: queryOf({ purpose: allPurposes }),
        response: items('Worker', workerColumns),
      },
    },
    async ({ params, query }) => itemsOfRun(params.run, readWorkers(store, { ...params, purpose: query.purpose })),
  );

  app.get(
    '/v1/runs/:run/questions',
    {
      schema: {
        tags,
        operationId: 'listRunQuestions',
        summary: 'Questions that the run tried: never answered right, always answered right, or flipping',
        params: runParams,
        querystring: queryOf({
          ...questions.query,
          outcome: Type.Optional(Type.Enum(['never', 'always', 'flips'])),
          min_tries: least,
          min_flips: least,
          purpose: allButEvaluations,
        }),
        response: questions.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listRunQuestions(store, { ...params, purpose: query.purpose }, query)),
  );

  async function itemsOfRun(run: string, reading: Promise<readonly object[]>) {
    const rows = await reading;
    if (rows.length === 0) await assertRun(store, run);
    return { items: rows };
  }
};

/** Reports on the cost of a run and on its differences from another. */
export const costReportRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/wall-clock',
    {
      schema: {
        tags,
        operationId: 'getWallClock',
        summary: 'Where the wall clock goes: generation, tools, queue, training',
        params: runParams,
        querystring: queryOf({ from_step: step(0), to_step: step(MOST_INT32), purpose: allButEvaluations }),
        response: items('WallClockPhase', wallClockColumns),
      },
    },
    async ({ params, query }) => {
      await assertRun(store, params.run);
      const { purpose, ...range } = query;
      return { items: await readWallClock(store, { ...params, purpose }, range) };
    },
  );

  app.get(
    '/v1/runs/:run/cost',
    {
      schema: {
        tags,
        operationId: 'listCosts',
        summary: 'Tokens, tool calls, and seconds per point of reward, by policy version',
        params: runParams,
        querystring: queryOf({ ...costs.query, purpose: allButEvaluations }),
        response: costs.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listCosts(store, { ...params, purpose: query.purpose }, query)),
  );

  app.get(
    '/v1/runs/:run/compare',
    {
      schema: {
        tags,
        operationId: 'compareRuns',
        summary: 'Settings, results, and costs of runs side by side, differences first',
        params: runParams,
        querystring: queryOf({ with: otherRuns }),
        response: items('Difference', compareColumns),
      },
    },
    async ({ params, query }) => {
      const others = query.with.split(',');
      const [entries] = await Promise.all([
        readComparison(store, params.run, others),
        ...[params.run, ...others].map((run) => assertRun(store, run)),
      ]);
      return { items: entries };
    },
  );
};
