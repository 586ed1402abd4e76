import { Type } from 'typebox';
import { answers, named } from '../columns.ts';
import { queryOf } from '../list.ts';
import { allButEvaluations, assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { mergedFigures, readMergedFlow } from './flow-merged.reader.ts';

const wholes = Type.Array(Type.Integer());

const merged = named('MergedFlow', {
  run_id: Type.String(),
  trajectories: Type.Integer(),
  every_s: Type.Integer(),
  at_ms: wholes,
  columns: Type.Object(Object.fromEntries(mergedFigures.map((name) => [name, wholes]))),
});

const mergedText = [
  'All attempts of a run, merged into spans of `every_s` seconds. `trained`, `collected`, `discarded`, `lost`, and `open` count the',
  'attempts that began in a span; those of a step that a rewind abandoned count as `discarded`, as in /flow. `running` were in flight at',
  'its end; `staleness_max` is the worst of those that a step trained on, and `version_first` the oldest version, -1 where there is none.',
].join(' ');

/** The flow of a run of any length. */
export const mergedFlowRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/flow/merged',
    {
      schema: {
        ...{ tags: ['runs'], operationId: 'getMergedFlow', summary: 'The flow of a run of any length, merged into spans' },
        ...{ description: mergedText, params: runParams, response: answers(merged) },
        querystring: queryOf({
          purpose: allButEvaluations,
          points: Type.Integer({ minimum: 2, maximum: 2_000, default: 600, description: 'Most spans.' }),
        }),
      },
    },
    async ({ params, query }) => {
      const answer = await readMergedFlow(store, params.run, query);
      if (answer.trajectories === 0) await assertRun(store, params.run);
      return answer;
    },
  );
};
