import { Type } from 'typebox';
import { answers, named, schemaOf } from '../columns.ts';
import { listOf, queryOf } from '../list.ts';
import { toolChangeColumns } from '../reports/reports.columns.ts';
import { discardReasons } from '../../../streams/batch/batch.ts';
import { MOST_INT32, purposes, runStatuses } from '../values.ts';
import { allPurposes, assertRun, idText, notFound, pageOfRun, runParams, type StoreRoutes } from '../route-kit.ts';
import {
  discardedColumns,
  policyColumns,
  runColumns,
  sparkColumns,
  stalenessColumns,
  stepColumns,
  toolColumns,
  toolErrorColumns,
  trainedColumns,
} from './runs.columns.ts';
import { findRun, listPolicies, listRuns, listStaleness } from './runs.reader.ts';
import { readTools } from './tools.reader.ts';
import { listDiscarded, listSteps, readStep } from './steps.reader.ts';

const tags = ['runs'];
const stepNumber = Type.Integer({ minimum: 0, maximum: MOST_INT32 });
const stepRange = { from_step: Type.Optional(stepNumber), to_step: Type.Optional(stepNumber) };
const runs = listOf('Run', runColumns, sparkColumns);
const staleness = listOf('StepStaleness', stalenessColumns);
const policies = listOf('Policy', policyColumns);
const steps = listOf('Step', stepColumns);
const discarded = listOf('Discard', discardedColumns);

const runsOfPurpose = Type.Optional(Type.Enum([...purposes], { description: 'Only runs that have attempts of this purpose.' }));
const description = [
  'Every run that has events. One without a ledger, which no trainer of turnstream wrote, has the status `recorded`, no settings, and no',
  'steps; its `started_at` is the time of its first event. `reward_spark` has the mean reward of the last step in each of at most 60 equal',
  'parts of the run.',
].join(' ');

export const runRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs',
    {
      schema: {
        tags,
        operationId: 'listRuns',
        summary: 'Runs, newest first',
        description,
        querystring: queryOf({ ...runs.query, status: Type.Optional(Type.Enum([...runStatuses])), purpose: runsOfPurpose }),
        response: runs.response,
      },
    },
    async ({ query }) => listRuns(store, query),
  );

  app.get(
    '/v1/runs/:run',
    {
      schema: {
        tags,
        operationId: 'getRun',
        summary: 'One run',
        params: runParams,
        response: answers(schemaOf('Run', runColumns, sparkColumns)),
      },
    },
    async ({ params }) => {
      const run = await findRun(store, params.run);
      if (run === undefined) throw notFound('run', params.run);
      return run;
    },
  );
};

/** Staleness, tools and policies of a run. */
export const accountRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/staleness',
    {
      schema: {
        tags,
        operationId: 'listStaleness',
        summary: 'Staleness by step, of what was trained and of what was discarded',
        params: runParams,
        querystring: queryOf({ ...staleness.query, ...stepRange }),
        response: staleness.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listStaleness(store, params.run, query)),
  );

  app.get(
    '/v1/runs/:run/tools',
    {
      schema: {
        tags,
        operationId: 'getTools',
        summary: 'Calls, failures and latencies of each tool; with since_step also what changed since that step',
        params: runParams,
        querystring: queryOf({ since_step: Type.Optional(stepNumber), purpose: allPurposes }),
        response: answers(
          named('ToolReport', {
            items: Type.Array(schemaOf('Tool', toolColumns)),
            error_types: Type.Array(schemaOf('ToolError', toolErrorColumns)),
            changes: Type.Optional(Type.Array(schemaOf('ToolChange', toolChangeColumns))),
          }),
        ),
      },
    },
    async ({ params, query }) => {
      const report = await readTools(store, { ...params, purpose: query.purpose }, query.since_step);
      if (report.items.length === 0) await assertRun(store, params.run);
      return report;
    },
  );

  app.get(
    '/v1/runs/:run/policies',
    {
      schema: {
        tags,
        operationId: 'listPolicies',
        summary: 'Published policy versions, newest first, without their weights',
        params: runParams,
        querystring: queryOf(policies.query),
        response: policies.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listPolicies(store, params.run, query)),
  );
};

/** Steps of a run. */
export const stepRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/steps',
    {
      schema: {
        tags,
        operationId: 'listSteps',
        summary: 'Steps in order',
        params: runParams,
        querystring: queryOf({
          ...steps.query,
          order: Type.Enum(['asc', 'desc'], { default: 'asc' }),
          ...stepRange,
        }),
        response: steps.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listSteps(store, params.run, query)),
  );

  app.get(
    '/v1/runs/:run/steps/:step',
    {
      schema: {
        tags,
        operationId: 'getStep',
        summary: 'One step with the trajectories that it trained on, and those discarded during it',
        params: Type.Object({ ...runParams.properties, step: stepNumber }),
        response: answers(
          named('StepReport', {
            step: schemaOf('Step', stepColumns),
            trajectories: Type.Array(schemaOf('TrainedTrajectory', trainedColumns)),
            discarded: Type.Array(schemaOf('Discard', discardedColumns)),
            truncated: Type.Boolean(),
          }),
        ),
      },
    },
    async ({ params }) => {
      const report = await readStep(store, params.run, params.step);
      if (report === undefined) throw notFound(`step of run ${params.run}`, params.step);
      return report;
    },
  );
};

/** Trajectories that were not trained on. */
export const discardRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/discarded',
    {
      schema: {
        tags,
        operationId: 'listDiscarded',
        summary: 'Trajectories that will never be trained on, and why',
        params: runParams,
        querystring: queryOf({
          ...discarded.query,
          reason: Type.Optional(Type.Enum([...discardReasons])),
          version: Type.Optional(stepNumber),
          min_version: Type.Optional(stepNumber),
          max_version: Type.Optional(stepNumber),
          question_id: Type.Optional(idText),
          min_reward: Type.Optional(Type.Number()),
          max_reward: Type.Optional(Type.Number()),
          min_turns: Type.Optional(stepNumber),
          max_turns: Type.Optional(stepNumber),
          min_staleness: Type.Optional(stepNumber),
        }),
        response: discarded.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listDiscarded(store, params.run, query)),
  );
};
