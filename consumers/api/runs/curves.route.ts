import { Type } from 'typebox';
import type { Store } from '../../../streams/core/ports.ts';
import { answers, named, type Columns } from '../columns.ts';
import { queryOf, readRows } from '../list.ts';
import { assertRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { curveColumns } from './curves.columns.ts';

const stepNumber = Type.Integer({ minimum: 0, maximum: 2_147_483_647 });
/** Steps of one answer; longer runs are thinned, or asked for by ranges. */
const MOST = 10_000;

const names = Object.keys(curveColumns).filter((name) => name !== 'step') as readonly Exclude<keyof typeof curveColumns, 'step'>[];
const values = Type.Array(Type.Union([Type.Number(), Type.String(), Type.Null()]));

const description = [
  'Each series has one value for each of `steps`: means, least, most and 95th percentiles over the trajectories that a step trained on,',
  `what was discarded meanwhile, and figures of the update. At most ${MOST} steps: of more, every n-th and the last (\`every\` says n).`,
].join(' ');

interface CurvesQuery {
  readonly from_step?: number | undefined;
  readonly to_step?: number | undefined;
  readonly series?: readonly string[] | undefined;
}

interface Curves {
  readonly run_id: string;
  readonly every: number;
  readonly steps: readonly number[];
  readonly series: Readonly<Record<string, readonly unknown[]>>;
}

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
            Type.Array(Type.Enum([...names]), { minItems: 1, maxItems: 100, description: 'Series to answer with; all when left out.' }),
          ),
        }),
        response: answers(
          named('Curves', {
            run_id: Type.String(),
            every: Type.Integer(),
            steps: Type.Array(Type.Integer()),
            series: Type.Record(Type.String(), values),
          }),
        ),
      },
    },
    async ({ params, query }) => {
      const curves = await readCurves(store, params.run, query);
      if (curves.steps.length === 0) await assertRun(store, params.run);
      return curves;
    },
  );
};

async function readCurves(store: Store, run: string, query: CurvesQuery): Promise<Curves> {
  const wanted = query.series === undefined ? names : names.filter((name) => query.series?.includes(name));
  const range = { run, from: query.from_step ?? 0, to: query.to_step ?? 2_147_483_647, most: MOST };
  const where = 'run_id = {run:String} and step between {from:Int32} and {to:Int32}';
  const [span] = await readRows<{ every: number; last: number }>(
    store,
    `select greatest(1, intDiv(uniqExact(step) + {most:UInt32} - 2, {most:UInt32} - 1)) as every, max(step) as last from steps where ${where}`,
    range,
  );
  const { every = 1, last = 0 } = span ?? {};
  const columns: Columns = Object.fromEntries(['step', ...wanted].map((name) => [name, curveColumns[name as keyof typeof curveColumns]]));
  const rows = await readRows<Readonly<Record<string, unknown>> & { readonly step: number }>(
    store,
    `select ${Object.keys(columns).join(', ')} from curves
     where ${where} and (step % {every:UInt32} = 0 or step = {last:Int32} or {every:UInt32} = 1) order by step`,
    { ...range, every, last },
  );
  return {
    run_id: run,
    every,
    steps: rows.map(({ step }) => step),
    series: Object.fromEntries(wanted.map((name) => [name, rows.map((row) => row[name])])),
  };
}
