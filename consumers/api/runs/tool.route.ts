import { Type } from 'typebox';
import { answers, named, schemaOf } from '../columns.ts';
import { queryOf } from '../list.ts';
import { notFound, runParams, slugText, type StoreRoutes } from '../route-kit.ts';
import { latencyColumns, slowCallColumns, toolErrorTypeColumns } from './tool.columns.ts';
import { readTool } from './tool.reader.ts';

const number = Type.Union([Type.Number(), Type.Null()]);

const schema = named('OneTool', {
  ...{ run_id: Type.String(), tool: Type.String(), calls: Type.Integer(), failed: Type.Integer(), cache_hits: Type.Integer() },
  ...{ ms_p50: number, ms_p95: number, ms_p99: number, ms_max: number },
  latencies: Type.Array(schemaOf('LatencySpan', latencyColumns)),
  error_types: Type.Array(schemaOf('ErrorsOfTool', toolErrorTypeColumns)),
  slowest: Type.Array(schemaOf('SlowCall', slowCallColumns)),
});

const description = [
  'Latencies in intervals that grow by a factor of the square root of two; one without calls is left out. `slowest` has the first 500',
  'characters of the arguments of the twenty slowest calls. All calls are at `/tool-calls?tool=`, time series at `/tools/series`.',
].join(' ');

/** One tool of a run. */
export const toolRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/tools/:tool',
    {
      schema: {
        ...{ tags: ['runs'], operationId: 'getTool', summary: 'One tool: latencies, error types, and its slowest calls', description },
        params: Type.Object({ ...runParams.properties, tool: slugText }),
        querystring: queryOf({}),
        response: answers(schema),
      },
    },
    async ({ params }) => {
      const answer = await readTool(store, params);
      if (answer.calls === 0) throw notFound('tool', params.tool);
      return answer;
    },
  );
};
