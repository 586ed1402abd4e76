import { Type } from 'typebox';
import { answers, pageSchema, schemaOf } from '../columns.ts';
import { pageQuery, queryOf } from '../list.ts';
import { discardReasons } from '../../../streams/batch/batch.ts';
import { assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { biasColumns, biasFigureColumns, biasReasonColumns } from './selection-bias.columns.ts';
import { readSelectionBias } from './selection-bias.reader.ts';

const stepNumber = Type.Integer({ minimum: 0, maximum: MOST_INT32 });

const description = [
  'Turns, tokens, and reward of trained and of discarded trajectories, with means, interpolated percentiles and the',
  'two-sample Kolmogorov-Smirnov distance (0: the same distribution, 1: they do not overlap, null: a side is empty).',
  'What was discarded at version v belongs to step v + 1. `overall` and `by_reason` cover the whole range of steps on every page.',
].join(' ');

/** How discarded trajectories differ from trained ones. */
export const selectionBiasRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/selection-bias',
    {
      schema: {
        tags: ['runs'],
        operationId: 'listSelectionBias',
        summary: 'Trained and discarded trajectories compared, by step, in total, and by reason',
        description,
        params: runParams,
        querystring: queryOf({
          ...pageQuery,
          from_step: Type.Optional(stepNumber),
          to_step: Type.Optional(stepNumber),
          reason: Type.Optional(Type.Enum([...discardReasons], { description: 'Only discards for this reason.' })),
        }),
        response: answers(
          pageSchema('SelectionBias', schemaOf('SelectionBias', biasColumns), {
            overall: Type.Union([schemaOf('SelectionBiasFigures', biasFigureColumns), Type.Null()]),
            by_reason: Type.Array(schemaOf('SelectionBiasOfReason', biasReasonColumns)),
          }),
        ),
      },
    },
    async ({ params, query }) => {
      const report = await readSelectionBias(store, params.run, query);
      if (report.items.length === 0) await assertRun(store, params.run);
      return report;
    },
  );
};
