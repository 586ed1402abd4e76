import { Type } from 'typebox';
import { answers, named, schemaOf } from '../columns.ts';
import { listOf, queryOf } from '../list.ts';
import { idText, notFound, pageOfRun, runParams, slugText, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32, purposes, toolStatuses, trajectoryFates, trajectoryStatuses } from '../values.ts';
import { fateColumns } from './fates.reader.ts';
import { listLineage } from './lineage.reader.ts';
import {
  collectedColumns,
  discardColumns,
  heavyToolCallColumns,
  heavyTurnColumns,
  lineageColumns,
  rewoundColumns,
  taskColumns,
  toolCallColumns,
  trainingColumns,
  trajectoryColumns,
  turnColumns,
} from './rollouts.columns.ts';
import { readNeighbors } from './neighbors.reader.ts';
import { listTrajectories, trajectorySorts } from './trajectories.reader.ts';
import { readGroup, readTrajectory } from './trajectory.reader.ts';
import { listToolCalls, listTurns } from './turns.reader.ts';

const tags = ['rollouts'];
const order = Type.Enum(['asc', 'desc'], { default: 'desc', description: 'Direction of `sort`.' });
const sort = Type.Enum([...trajectorySorts], { default: 'finished_at', description: '`tokens` are the tokens that the policy generated.' });
const whole = Type.Optional(Type.Integer({ minimum: -1, maximum: MOST_INT32 }));
const number = Type.Optional(Type.Number());
const slug = Type.Optional(slugText);
const ofRun = queryOf({ run: Type.Optional(runParams.properties.run) });

const trajectories = listOf('Trajectory', trajectoryColumns, fateColumns);
const turns = listOf('Turn', turnColumns, heavyTurnColumns);
const toolCalls = listOf('ToolCall', toolCallColumns, heavyToolCallColumns);
const lineage = listOf('LineageTurn', lineageColumns);
const status = Type.Optional(Type.Enum([...trajectoryStatuses]));
const toolStatus = Type.Optional(Type.Enum([...toolStatuses]));
const purpose = Type.Optional(Type.Enum([...purposes]));

const fateText = [
  'What became of the attempt. `collected`: kept in a batch of a run that is not trained. `discarded`: even if a rewind abandoned the step',
  'that trained on it. `lost`: given up, and none of these since. `open`: finished, and none of these yet.',
].join(' ');

const trajectoryFilter = {
  sort,
  order,
  status,
  purpose,
  group: Type.Optional(idText),
  question_id: Type.Optional(idText),
  worker: slug,
  attempt: whole,
  min_reward: number,
  max_reward: number,
  min_turns: whole,
  max_turns: whole,
  min_tokens: whole,
  max_tokens: whole,
  min_version: whole,
  max_version: whole,
  step: whole,
  min_step: whole,
  max_step: whole,
  tool: slug,
  tool_status: toolStatus,
  error_type: slug,
  question: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Part of the text of the question, ignoring case.' })),
  fate: Type.Optional(Type.Enum([...trajectoryFates], { description: fateText })),
};
const trajectoryQuery = queryOf({ ...trajectories.query, ...trajectoryFilter });

const neighbor = Type.Union([named('TrajectoryNeighbor', { trajectory_id: Type.String(), attempt: Type.Integer() }), Type.Null()]);

const groupSchema = named('Group', {
  group_id: Type.String(),
  run_id: Type.String(),
  question_id: Type.String(),
  question: Type.String(),
  purpose: Type.String(),
  group_size: Type.Integer(),
  reward_mean: Type.Union([Type.Number(), Type.Null()]),
  reward_min: Type.Union([Type.Number(), Type.Null()]),
  reward_max: Type.Union([Type.Number(), Type.Null()]),
  trajectories: Type.Array(schemaOf('Trajectory', trajectoryColumns, fateColumns)),
  requested: Type.Array(schemaOf('Task', taskColumns)),
});

const reportSchema = named('TrajectoryReport', {
  trajectory_id: Type.String(),
  run_id: Type.String(),
  group_id: Type.String(),
  purpose: Type.String(),
  question_id: Type.String(),
  question: Type.String(),
  attempts: Type.Array(
    named('Attempt', {
      attempt: Type.Integer(),
      status: Type.String(),
      requested_at: Type.Union([Type.String(), Type.Null()]),
      started_at: Type.Union([Type.String(), Type.Null()]),
      worker_id: Type.String(),
      expired_reason: Type.String(),
      expired_at: Type.Union([Type.String(), Type.Null()]),
      result: Type.Union([schemaOf('Trajectory', trajectoryColumns, fateColumns), Type.Null()]),
    }),
  ),
  training: Type.Array(schemaOf('Training', trainingColumns)),
  collected: Type.Array(schemaOf('TrajectoryCollection', collectedColumns)),
  discarded: Type.Array(schemaOf('TrajectoryDiscard', discardColumns)),
  rewound: Type.Array(schemaOf('TrajectoryRewind', rewoundColumns)),
});

/** Trajectories of a run, and each by its own address. */
export const rolloutRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/trajectories',
    {
      schema: {
        tags,
        operationId: 'listTrajectories',
        summary: 'Finished attempts, narrowed by any of the filters',
        params: runParams,
        querystring: trajectoryQuery,
        response: trajectories.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listTrajectories(store, params.run, query)),
  );

  app.get(
    '/v1/runs/:run/trajectories/:trajectory/neighbors',
    {
      schema: {
        tags,
        operationId: 'getTrajectoryNeighbors',
        summary: 'The trajectories before and after this one in the list with these filters',
        description: 'Both are null if the attempt has not finished. The attempt itself, number `of_attempt`, need not match the filters.',
        params: Type.Object({ run: runParams.properties.run, trajectory: idText }),
        querystring: queryOf({ ...trajectoryFilter, of_attempt: Type.Integer({ minimum: 0, maximum: MOST_INT32, default: 0 }) }),
        response: answers(named('TrajectoryNeighbors', { previous: neighbor, next: neighbor })),
      },
    },
    async ({ params, query: { of_attempt: attempt, ...filter } }) => {
      const neighbors = await readNeighbors(store, params.run, { ...filter, at: { trajectory_id: params.trajectory, attempt } });
      const isAlone = neighbors.previous === null && neighbors.next === null;
      if (isAlone && (await readTrajectory(store, params.trajectory, params.run)) === undefined) {
        throw notFound('trajectory', params.trajectory);
      }
      return neighbors;
    },
  );

  app.get(
    '/v1/trajectories/:trajectory',
    {
      schema: {
        tags,
        operationId: 'getTrajectory',
        summary: 'One trajectory: its attempts, the step that trained on it, the batch that kept it, or why it was discarded',
        params: Type.Object({ trajectory: idText }),
        querystring: ofRun,
        response: answers(reportSchema),
      },
    },
    async ({ params, query }) => {
      const report = await readTrajectory(store, params.trajectory, query.run);
      if (report === undefined) throw notFound('trajectory', params.trajectory);
      return report;
    },
  );
};

/** Tool calls of all trajectories of a run. */
export const toolCallRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/tool-calls',
    {
      schema: {
        tags,
        operationId: 'listToolCalls',
        summary: 'Tool calls, narrowed by any of the filters; only the first 200 characters of results unless fields names them',
        params: runParams,
        querystring: queryOf({
          ...toolCalls.query,
          trajectory: Type.Optional(idText),
          group: Type.Optional(idText),
          min_turn: whole,
          max_turn: whole,
          purpose,
          worker: slug,
          tool: slug,
          tool_status: toolStatus,
          error_type: slug,
          min_ms: number,
          max_ms: number,
          min_version: whole,
          max_version: whole,
          arguments: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Part of the arguments, ignoring case.' })),
          result: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Part of the result, ignoring case.' })),
        }),
        response: toolCalls.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listToolCalls(store, params.run, query)),
  );
};

/** Turns of a trajectory, and the lineage of a run. */
export const turnRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/trajectories/:trajectory/turns',
    {
      schema: {
        tags,
        operationId: 'listTurns',
        summary: 'Turns in order; only the first 200 characters of texts unless fields names them',
        params: Type.Object({ trajectory: idText }),
        querystring: queryOf({
          ...turns.query,
          ...ofRun.properties,
          attempt: whole,
          min_turn: whole,
          max_turn: whole,
          tool: slug,
          tool_status: toolStatus,
          error_type: slug,
        }),
        response: turns.response,
      },
    },
    async ({ params, query }) => {
      const page = await listTurns(store, params.trajectory, query);
      if (page.items.length === 0 && (await readTrajectory(store, params.trajectory, query.run)) === undefined) {
        throw notFound('trajectory', params.trajectory);
      }
      return page;
    },
  );

  app.get(
    '/v1/runs/:run/lineage',
    {
      schema: {
        tags,
        operationId: 'listLineage',
        summary: 'From a step to its trajectories, their turns and their tool calls',
        params: runParams,
        querystring: queryOf({ ...lineage.query, step: whole, trajectory: Type.Optional(idText), tool: slug }),
        response: lineage.response,
      },
    },
    async ({ params, query }) => pageOfRun(store, params.run, listLineage(store, params.run, query)),
  );
};

/** Groups, by their own address and below their run. */
export const groupRoutes: StoreRoutes = async (app, { store }) => {
  const schema = { tags, summary: 'One group: every attempt at every sample of its question', response: answers(groupSchema) };
  app.get(
    '/v1/groups/:group',
    { schema: { ...schema, operationId: 'getGroup', params: Type.Object({ group: idText }), querystring: ofRun } },
    async ({ params, query }) => found(params.group, query.run),
  );
  app.get(
    '/v1/runs/:run/groups/:group',
    { schema: { ...schema, operationId: 'getGroupOfRun', params: Type.Object({ ...runParams.properties, group: idText }) } },
    async ({ params }) => found(params.group, params.run),
  );

  async function found(group: string, run: string | undefined) {
    const report = await readGroup(store, group, run);
    if (report === undefined) throw notFound('group', group);
    return report;
  }
};
