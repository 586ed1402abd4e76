import { Type } from 'typebox';
import { readPageOfSteps } from '../list-of-steps.ts';
import { equals, listOf, queryOf, readPage } from '../list.ts';
import { pageOfRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { heldoutColumns, spreadColumns } from './heldout.columns.ts';
import { spreadSteps, spreadsSql } from './spreads.sql.ts';
import { stepsBetween } from './runs.reader.ts';

const tags = ['runs'];
const stepNumber = Type.Integer({ minimum: 0, maximum: MOST_INT32 });
const heldout = listOf('HeldoutScore', heldoutColumns);
const spreads = listOf('StepSpread', spreadColumns);
/** Scores of a run's versions on held-out questions, and the spreads of its steps. */
export const heldoutRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/heldout',
    {
      schema: {
        tags,
        operationId: 'listHeldoutScores',
        summary: 'Avg@k on held-out questions by policy version, with 95 % intervals',
        description:
          'One sampled evaluation per version, all made in the same way: on the dataset of the run, with equal numbers of samples and questions, limits, and settings. If evaluations were made in several ways, the way with the most versions counts; if a version has several evaluations, the newest. Greedy ones are in /v1/evaluations.',
        params: runParams,
        querystring: queryOf(heldout.query),
        response: heldout.response,
      },
    },
    async ({ params, query }) =>
      pageOfRun(
        store,
        params.run,
        readPage(
          store,
          { from: 'heldout', columns: heldoutColumns, key: { version: 'Int32' }, direction: 'asc' },
          { ...query, where: equals('run_id', 'String', params.run) },
        ),
      ),
  );

  app.get(
    '/v1/runs/:run/spreads',
    {
      schema: {
        tags,
        operationId: 'listStepSpreads',
        summary: 'Quantiles over the trajectories that a step trained on, and the mean reward of all that finished',
        params: runParams,
        querystring: queryOf({ ...spreads.query, from_step: Type.Optional(stepNumber), to_step: Type.Optional(stepNumber) }),
        response: spreads.response,
      },
    },
    async ({ params, query }) =>
      pageOfRun(
        store,
        params.run,
        readPageOfSteps(
          store,
          { from: spreadsSql, steps: spreadSteps, columns: spreadColumns },
          { ...query, where: [...equals('run_id', 'String', params.run), ...stepsBetween(query)] },
        ),
      ),
  );
};
