import { Type } from 'typebox';
import { answers, named } from '../columns.ts';
import { queryOf } from '../list.ts';
import { assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { histogramFigures, readHistograms } from './histogram.reader.ts';

const step = Type.Integer({ minimum: 0, maximum: MOST_INT32 });

const description = [
  'Bins of equal width over the trajectories of a range of steps: `fates` counts what was trained on (an empty `reason`) and what was',
  'discarded, by reason. What was discarded at version v belongs to step v + 1. A figure without values in the range is left out.',
].join(' ');

/** Distributions over trained and discarded trajectories. */
export const histogramRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/outcomes/histogram',
    {
      schema: {
        ...{
          tags: ['runs'],
          operationId: 'getOutcomeHistograms',
          summary: 'Distributions of reward, advantage, turns, tokens, and staleness',
        },
        ...{ description, params: runParams },
        querystring: queryOf({
          from_step: Type.Optional(step),
          to_step: Type.Optional(step),
          bins: Type.Integer({ minimum: 1, maximum: 200, default: 30, description: 'Maximum number of bins per figure.' }),
          of: Type.Optional(Type.Array(Type.Enum([...histogramFigures]), { minItems: 1, maxItems: 5, description: 'By default all.' })),
        }),
        response: answers(
          named('OutcomeHistograms', {
            run_id: Type.String(),
            items: Type.Array(
              named('OutcomeHistogram', {
                figure: Type.String(),
                low: Type.Number(),
                width: Type.Number(),
                fates: Type.Array(named('FateCounts', { reason: Type.String(), counts: Type.Array(Type.Integer()) })),
              }),
            ),
          }),
        ),
      },
    },
    async ({ params, query: { from_step = 0, to_step = MOST_INT32, bins, of = histogramFigures } }) => {
      const items = await readHistograms(store, params.run, { from_step, to_step, bins, of: [...new Set(of)] });
      if (items.length === 0) await assertRun(store, params.run);
      return { run_id: params.run, items };
    },
  );
};
