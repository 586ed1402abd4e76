// What a page needs to open a trajectory of any length: its skeleton, and which of its turns contain a text.
import { Type } from 'typebox';
import { answers, named, pageSchema, schemaOf } from '../columns.ts';
import { pageQuery, queryOf } from '../list.ts';
import { idText, notFound, pageOfRun, runParams, type StoreRoutes } from '../route-kit.ts';
import { MOST_INT32 } from '../values.ts';
import { findInTrajectory } from './find.reader.ts';
import { foundTextColumns, searchTexts } from './search.reader.ts';
import { assertSought, searching, soughtQuery } from './sought.ts';
import { MOST_TURNS, outlineNames, readOutline } from './outline.reader.ts';
import { readTrajectory } from './trajectory.reader.ts';

const params = Type.Object({ trajectory: idText });
const place = {
  run: Type.Optional(runParams.properties.run),
  attempt: Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_INT32, description: 'By default 0.' })),
};
const where = {
  run_id: Type.String(),
  trajectory_id: Type.String(),
  attempt: Type.Integer(),
  turns: Type.Integer(),
  is_whole: Type.Boolean(),
};
const texts = Type.Array(Type.String());
const column = Type.Array(Type.Union([Type.Number(), Type.Null()]));

const outline = named('Outline', {
  ...where,
  tools: texts,
  statuses: texts,
  error_types: texts,
  workers: texts,
  columns: Type.Object(Object.fromEntries(outlineNames.map((name) => [name, column]))),
});

const outlineLimit = Type.Integer({
  ...{ minimum: 1, maximum: MOST_TURNS, default: MOST_TURNS },
  description: 'Return only the first turns, at most this many.',
});

const outlineText = [
  'Every turn of an attempt, as one column per figure, without texts. `tool`, `status`, `error_type`, and `worker` are indexes into the',
  'lists of names. `at_ms` is the start of the generation and `tool_at_ms` that of the tool call, in milliseconds since 1970 by the clock',
  'of the worker. `generation_queue_ms` and `tool_queue_ms` are the parts of `generation_ms` and `tool_ms` in which the worker was at its',
  'limit of concurrent calls.',
].join(' ');

const found = named('FoundTurns', {
  ...where,
  items: Type.Array(
    named('FoundTurn', { turn: Type.Integer(), field: Type.String(), offset: Type.Integer(), head: Type.String(), match: Type.String() }),
  ),
});

const { text: _text, ...placeColumns } = foundTextColumns;
const foundText = schemaOf('FoundText', { ...placeColumns, offset: 'whole', head: 'text' });

/** Reads of a whole attempt. */
export const skeletonRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/trajectories/:trajectory/outline',
    {
      schema: {
        ...{ tags: ['rollouts'], operationId: 'getOutline', summary: 'All turns of an attempt as columns, without texts' },
        ...{ description: outlineText, params, querystring: queryOf({ ...place, limit: outlineLimit }), response: answers(outline) },
      },
    },
    async ({ params: { trajectory }, query }) => {
      const report = await readOutline(store, trajectory, query);
      if (report !== undefined) return report;
      const known = await readTrajectory(store, trajectory, query.run);
      if (known === undefined) throw notFound('trajectory', trajectory);
      const none = { turns: 0, is_whole: true, tools: [], statuses: [], error_types: [], workers: [] };
      const columns = Object.fromEntries(outlineNames.map((name) => [name, []]));
      return { run_id: known.run_id, trajectory_id: trajectory, attempt: query.attempt ?? 0, ...none, columns };
    },
  );

  app.get(
    '/v1/trajectories/:trajectory/find',
    {
      schema: {
        ...{ tags: ['rollouts'], operationId: 'findInTrajectory', summary: 'Turns whose text, arguments, result, or error contain a text' },
        params,
        querystring: queryOf({
          ...place,
          ...soughtQuery,
          limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000, description: 'Maximum number of turns to return.' }),
        }),
        response: answers(found),
      },
    },
    async ({ params: { trajectory }, query }) => {
      assertSought(query);
      const answer = await searching(() => findInTrajectory(store, trajectory, query));
      if (answer.items.length === 0 && (await readTrajectory(store, trajectory, query.run)) === undefined) {
        throw notFound('trajectory', trajectory);
      }
      return answer;
    },
  );
};

/** Texts of a whole run. */
export const searchRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/find',
    {
      schema: {
        ...{ tags: ['rollouts'], operationId: 'findInRun', summary: 'Turns of a run whose text contains a text' },
        description:
          'In order of trajectory, attempt, and turn, with the text around the first match. For arguments and results, use tool-calls.',
        params: runParams,
        querystring: queryOf({
          ...pageQuery,
          ...soughtQuery,
        }),
        response: answers(pageSchema('FoundText', foundText)),
      },
    },
    async ({ params, query }) => {
      assertSought(query);
      return pageOfRun(
        store,
        params.run,
        searching(() => searchTexts(store, params.run, query)),
      );
    },
  );
};
