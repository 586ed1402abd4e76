import { Type } from 'typebox';
import { answers, named } from '../columns.ts';
import { queryOf } from '../list.ts';
import { assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { extraColumns } from './curves.columns.ts';
import { readBuckets } from './curve-buckets.reader.ts';
import { MOST_STEPS, readCurves, seriesNames } from './curves.reader.ts';

/** Other runs in one response. */
const MOST_OTHERS = 5;

const stepNumber = Type.Integer({ minimum: 0, maximum: MOST_INT32 });
const values = Type.Array(Type.Union([Type.Number(), Type.String(), Type.Null()]));

const description = [
  'Each series has one value for each of `steps`: means, extremes, and 95th percentiles over the trajectories that a step trained on, what',
  'was discarded meanwhile, and figures of the update. With `points`, values have six significant digits, and `low` and `high` are left',
  `out if each bucket is one step. At most ${MOST_STEPS} steps are returned: of a longer range, every \`every\`-th step and the last one.`,
].join(' ');

const curves = {
  run_id: Type.String(),
  every: Type.Integer(),
  steps: Type.Array(Type.Integer()),
  series: Type.Record(Type.String(), values),
  first_steps: Type.Optional(Type.Array(Type.Integer(), { description: 'First step of each bucket; `steps` has the last.' })),
  low: Type.Optional(Type.Record(Type.String(), values)),
  high: Type.Optional(Type.Record(Type.String(), values)),
};
const others = Type.Array(named('CurvesOfOther', curves), { description: 'The curves of the runs in `with`, in the same order.' });
const otherRuns = Type.Array(runParams.properties.run, {
  minItems: 1,
  maxItems: MOST_OTHERS,
  description: 'Other runs whose curves to return as well; each has its own buckets.',
});

/** What a run looks like over its steps, for charts. */
export const curveRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/curves',
    {
      schema: {
        tags: ['runs'],
        operationId: 'getCurves',
        summary: 'Series over the steps of a run: reward, F1, turns, tool calls, tokens, format, discards, staleness',
        description,
        params: runParams,
        querystring: queryOf({
          from_step: Type.Optional(stepNumber),
          to_step: Type.Optional(stepNumber),
          series: Type.Optional(
            Type.Array(Type.Enum([...seriesNames]), {
              minItems: 1,
              maxItems: 100,
              description: `Series to return; by default, all but ${Object.keys(extraColumns).join(', ')}.`,
            }),
          ),
          points: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 4_000,
              description: 'Maximum number of buckets; each has the lowest, the highest, and the last value.',
            }),
          ),
          with: Type.Optional(otherRuns),
        }),
        response: answers(named('Curves', { ...curves, others: Type.Optional(others) })),
      },
    },
    async ({ params, query }) => {
      const { points, with: asked, ...rest } = query;
      const read = async (run: string) => {
        const made = await (points === undefined ? readCurves(store, run, rest) : readBuckets(store, run, { ...rest, points }));
        if (made.steps.length === 0) await assertRun(store, run);
        return made;
      };
      if (asked === undefined) return read(params.run);
      const [own, ...found] = await Promise.all([params.run, ...asked].map(read));
      return { ...own, others: found };
    },
  );
};
