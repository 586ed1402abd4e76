// Routes for monitoring a run: trajectories over wall-clock time, admissions, weights in use, tools over time, and advisories.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Store } from '../../../streams/core/ports.ts';
import { answers, named, pageSchema, rowSchemaOf, schemaOf } from '../columns.ts';
import { equals, listOf, queryOf, readPage } from '../list.ts';
import { allButEvaluations, assertRun, pageOfRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { isBehind } from './advisories.ts';
import { readFindings, type CountBehind } from './findings.reader.ts';
import { flowFigures, MOST_BARS, readFlow } from './flow.reader.ts';
import { readState } from './state.reader.ts';
import { readSyncs } from './syncs.reader.ts';
import { readAdmissionSpans } from './admissions.reader.ts';
import {
  admissionColumns,
  admissionSpanColumns,
  advisoryColumns,
  outageColumns,
  stateColumns,
  syncColumns,
  weatherColumns,
} from './watch.columns.ts';
import { readWeather } from './weather.reader.ts';

const tags = ['runs'];
const time = Type.Optional(Type.String({ format: 'date-time', maxLength: 40 }));
const range = { from: time, to: time };
const texts = Type.Array(Type.String());
const wholes = Type.Array(Type.Integer());
const marks = Type.Object({ numbers: wholes, at_ms: wholes });
const ofRun = { run_id: Type.String() };
const admissions = listOf('Admission', admissionColumns);
const admissionsText = [
  'With `points`, the admissions of the whole run are aggregated into at most that many spans. A span has its last admission, the number of',
  'admissions, and the extremes of `capacity` and `running`. The result is one page; `fields`, `limit`, and `cursor` are ignored.',
].join(' ');
const admissionRow = Type.Union([rowSchemaOf('Admission', admissionColumns), schemaOf('AdmissionSpan', admissionSpanColumns)]);
const points = Type.Optional(Type.Integer({ minimum: 2, maximum: 2_000, description: 'Maximum number of spans.' }));

const flow = named('Flow', {
  ...ofRun,
  trajectories: Type.Integer(),
  is_whole: Type.Boolean(),
  max_staleness: Type.Union([Type.Integer(), Type.Null()]),
  fates: texts,
  reasons: texts,
  workers: texts,
  ids: texts,
  columns: Type.Object(Object.fromEntries(flowFigures.map((name) => [name, wholes]))),
  versions: marks,
  steps: marks,
});

const flowText = [
  'The newest `limit` attempts that started in the range, sorted by start, as one column per figure. `fate`, `reason`, and `worker` are',
  'indexes into the lists of names. `end_ms` is 0 for an attempt that has not ended. `decided_ms` is the time at which it was trained on, collected,',
  'discarded, or given up; 0 before that. All times are milliseconds since 1970. `versions` and `steps` have the time at which each was',
  'published or made.',
].join(' ');

/** Rollouts, training steps, and versions over time. */
export const flowRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/flow',
    {
      schema: {
        ...{ tags, operationId: 'getFlow', summary: 'Trajectories over wall-clock time, with their versions and fates' },
        ...{ description: flowText, params: runParams, response: answers(flow) },
        querystring: queryOf({
          ...range,
          purpose: allButEvaluations,
          limit: Type.Integer({ minimum: 1, maximum: MOST_BARS, default: 10_000, description: 'Maximum number of attempts.' }),
        }),
      },
    },
    async ({ params, query }) => {
      const answer = await readFlow(store, params.run, query);
      if (answer.trajectories === 0) await assertRun(store, params.run);
      return answer;
    },
  );

  app.get(
    '/v1/runs/:run/admissions',
    {
      schema: {
        ...{ tags, operationId: 'listAdmissions', summary: 'Admissions of groups with the remaining capacity, newest first' },
        ...{ description: admissionsText, params: runParams, querystring: queryOf({ ...admissions.query, points }) },
        response: answers(pageSchema('Admission', admissionRow)),
      },
    },
    async ({ params, query: { points: spans, ...query } }) => {
      if (spans !== undefined) return pageOfRun<object>(store, params.run, readAdmissionSpans(store, params.run, spans));
      const spec = { from: 'admissions', columns: admissionColumns, key: { sequence: 'Int64' }, direction: 'desc' } as const;
      const where = equals('run_id', 'String', params.run);
      return pageOfRun<object>(store, params.run, readPage(store, spec, { ...query, where }));
    },
  );

  app.get(
    '/v1/runs/:run/syncs',
    {
      schema: {
        ...{
          tags,
          operationId: 'getSyncs',
          summary: 'When each worker started to use each version, and the delay since its publication',
        },
        params: runParams,
        querystring: queryOf({
          versions: Type.Integer({ minimum: 1, maximum: 1_000, default: 20, description: 'Number of newest versions.' }),
          to_version: Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_INT32, description: 'Newest version to include.' })),
        }),
        response: answers(named('Syncs', { ...ofRun, items: Type.Array(schemaOf('Sync', syncColumns)) })),
      },
    },
    async ({ params, query }) => {
      const answer = await readSyncs(store, params.run, query);
      if (answer.items.length === 0) await assertRun(store, params.run);
      return answer;
    },
  );
};

const weatherText = [
  'Calls of the twenty most used tools in spans of equal length. A tool has an outage while at least 30 % of its calls fail, if that is',
  'three times the usual rate or half of all calls, and too many to be chance. Outages are found in spans of a minute (longer ones in runs',
  'of weeks), whatever `points` is. An outage ends with its last bad span: after it come four calls in good spans, or ten minutes without',
  'a bad one.',
  '`usual_failure_rate` is the lower quartile over parts of the run with 30 calls. `from_step` and `to_step` are the first and last step',
  'made during the outage, or the next step if none was made during it; -1 if there is none yet.',
].join(' ');

const advisoriesText = [
  '`severity` is alarm, warning, or advice; advice is only given to a run without alarms. `sql` returns the evidence, and `page` is the',
  'page of the dashboard that shows it; `is_over` is true if the problem has ended. `outages` are those of /tools/series, `behind` is the',
  'number of log records that are not in the tables yet, and `state` has the newest admission and the worst sample of the newest step. Its',
  '`ledger_entry` is the type of the newest ledger entry, made at `ledger_at`. `trainer` is `silent` if the ledger has had no entry for',
  'more than a minute and more than the usual time of five steps (ten minutes before the first step). Otherwise it is `training` while a',
  'batch is leased or, in a run without leases, at the times at which the next step usually trains; otherwise `waiting`. It is empty for a',
  'finished run, a run without a ledger, and while the tables are too far behind the log to tell.',
].join(' ');

/** Tools over time, and advisories. */
export const watchRoutes: FastifyPluginAsyncTypebox<{ readonly store: Store; readonly countBehind: CountBehind }> = async (
  app,
  { store, countBehind },
) => {
  app.get(
    '/v1/runs/:run/tools/series',
    {
      schema: {
        ...{ tags, operationId: 'getToolWeather', summary: 'Calls, failures, and latencies of each tool over time, and outages' },
        ...{ description: weatherText, params: runParams },
        querystring: queryOf({
          ...range,
          points: Type.Integer({ minimum: 2, maximum: 2_000, default: 240, description: 'Maximum number of spans.' }),
        }),
        response: answers(
          named('ToolWeather', {
            ...ofRun,
            every_s: Type.Integer(),
            items: Type.Array(schemaOf('ToolSpan', weatherColumns)),
            outages: Type.Array(schemaOf('ToolOutage', outageColumns)),
          }),
        ),
      },
    },
    async ({ params, query }) => {
      const answer = await readWeather(store, params.run, query);
      if (answer.items.length === 0) await assertRun(store, params.run);
      return answer;
    },
  );

  app.get(
    '/v1/runs/:run/advisories',
    {
      schema: {
        ...{ tags, operationId: 'listAdvisories', summary: 'Advisories with their evidence, most severe first' },
        ...{ description: advisoriesText, params: runParams },
        querystring: queryOf({}),
        response: answers(
          named('Advisories', {
            ...ofRun,
            items: Type.Array(schemaOf('Advisory', advisoryColumns)),
            outages: Type.Array(schemaOf('ToolOutage', outageColumns)),
            behind: Type.Union([Type.Integer(), Type.Null()]),
            state: schemaOf('RunState', stateColumns),
          }),
        ),
      },
    },
    async ({ params }) => {
      const [answer, state] = await Promise.all([readFindings(store, params.run, countBehind), readState(store, params.run)]);
      if (answer.items.length === 0) await assertRun(store, params.run);
      return { ...answer, state: isBehind(answer.behind ?? 0) && state.trainer === 'silent' ? { ...state, trainer: '' } : state };
    },
  );
};
