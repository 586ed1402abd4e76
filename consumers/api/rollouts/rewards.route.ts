import { Type } from 'typebox';
import { equals, listOf, queryOf, readPage } from '../list.ts';
import { idText, notFound, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { readTrajectory } from './trajectory.reader.ts';
import { runOf } from './turns.reader.ts';

const columns = {
  run_id: 'text',
  trajectory_id: 'text',
  attempt: 'whole',
  turn: 'whole',
  name: 'text',
  value: 'number',
  source: 'text',
  identifier: 'text',
  in_time: 'flag',
  late: 'flag',
  counted: 'flag',
  occurred_at: 'time',
} as const;
const rewards = listOf('AttachedReward', columns);
const key = { attempt: 'Int32', turn: 'Int32', name: 'String', identifier: 'String' } as const;

/** Rewards that were attached after the fact. */
export const rewardRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/trajectories/:trajectory/rewards',
    {
      schema: {
        tags: ['rollouts'],
        operationId: 'listRewards',
        summary: 'Rewards that were attached after the fact, each once: which came in time, and which were trained on',
        params: Type.Object({ trajectory: idText }),
        querystring: queryOf({
          ...rewards.query,
          run: Type.Optional(runParams.properties.run),
          attempt: Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_INT32 })),
        }),
        response: rewards.response,
      },
    },
    async ({ params: { trajectory }, query }) => {
      const run = query.run ?? (await runOf(store, trajectory));
      const where = [
        ...equals('run_id', 'String', run),
        ...equals('trajectory_id', 'String', trajectory),
        ...equals('attempt', 'Int32', query.attempt),
      ];
      const page = await readPage(store, { from: 'trajectory_rewards', columns, key, direction: 'asc' }, { ...query, where });
      if (page.items.length === 0 && (await readTrajectory(store, trajectory, query.run)) === undefined) {
        throw notFound('trajectory', trajectory);
      }
      return page;
    },
  );
};
