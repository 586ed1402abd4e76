import { Type } from 'typebox';
import { answers, named, schemaOf } from '../columns.ts';
import { listOf, queryOf } from '../list.ts';
import { liveTopics } from '../live/follower.ts';
import { deadLetterReasons, MOST_INT32 } from '../values.ts';
import { idText, notFound, runParams, slugText, type StoreRoutes } from '../route-kit.ts';
import {
  deadLetterColumns,
  evaluationColumns,
  heavyDeadLetterColumns,
  levelColumns,
  questionColumns,
  scoreColumns,
} from './questions.columns.ts';
import { readComparison } from './comparison.reader.ts';
import { findEvaluation, listDeadLetters, listEvaluations, listQuestions, listScores, readFigures } from './questions.reader.ts';

const topic = Type.Optional(Type.Enum([...liveTopics]));
const partition = Type.Optional(Type.Integer({ minimum: 0, maximum: MOST_INT32, description: 'Partition of the original record.' }));
const offset = Type.Optional(
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Offset of the original record in its partition.' }),
);
const reason = Type.Optional(Type.Enum([...deadLetterReasons]));
const slug = Type.Optional(slugText);
const run = Type.Optional(runParams.properties.run);
const questions = listOf('Question', questionColumns);
const evaluations = listOf('Evaluation', evaluationColumns);
const scores = listOf('Score', scoreColumns);
const level = schemaOf('EvaluationLevel', levelColumns);
const deadLetters = listOf('DeadLetter', deadLetterColumns, heavyDeadLetterColumns);

/** Accepted and rejected questions. */
export const questionRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/questions',
    {
      schema: {
        tags: ['questions'],
        operationId: 'listQuestions',
        summary: 'Questions, accepted and rejected, with the verdict of every gate',
        querystring: queryOf({
          ...questions.query,
          dataset: slug,
          split: slug,
          kind: slug,
          reason: slug,
          hops: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
          accepted: Type.Optional(Type.Boolean()),
          question_id: Type.Optional(idText),
          question: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Part of the question, ignoring case.' })),
        }),
        response: questions.response,
      },
    },
    async ({ query }) => listQuestions(store, query),
  );
};

/** Evaluations and their scores. */
export const evaluationRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/evaluations',
    {
      schema: {
        tags: ['evaluations'],
        operationId: 'listEvaluations',
        summary: 'Evaluations, newest first',
        querystring: queryOf({ ...evaluations.query, run, dataset: slug, split: slug }),
        response: evaluations.response,
      },
    },
    async ({ query }) => listEvaluations(store, query),
  );

  app.get(
    '/v1/evaluations/:evaluation',
    {
      schema: {
        tags: ['evaluations'],
        operationId: 'getEvaluation',
        summary: 'One evaluation',
        params: Type.Object({ evaluation: idText }),
        response: answers(schemaOf('Evaluation', evaluationColumns)),
      },
    },
    async ({ params }) => {
      const evaluation = await findEvaluation(store, params.evaluation);
      if (evaluation === undefined) throw notFound('evaluation', params.evaluation);
      return evaluation;
    },
  );

  app.get(
    '/v1/evaluations/:evaluation/scores',
    {
      schema: {
        tags: ['evaluations'],
        operationId: 'listScores',
        summary: 'Every scored answer of an evaluation',
        params: Type.Object({ evaluation: idText }),
        querystring: queryOf(scores.query),
        response: scores.response,
      },
    },
    async ({ params, query }) => {
      const page = await listScores(store, params.evaluation, query);
      if (page.items.length === 0 && (await findEvaluation(store, params.evaluation)) === undefined) {
        throw notFound('evaluation', params.evaluation);
      }
      return page;
    },
  );
};

/** The results of an evaluation. */
export const resultRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/evaluations/:evaluation/results',
    {
      schema: {
        tags: ['evaluations'],
        operationId: 'getEvaluationResults',
        summary: 'Figures of an evaluation with 95 % intervals, as a whole and by level',
        params: Type.Object({ evaluation: idText }),
        response: answers(named('EvaluationResults', { overall: Type.Union([level, Type.Null()]), levels: Type.Array(level) })),
      },
    },
    async ({ params }) => {
      const figures = await readFigures(store, params.evaluation);
      if (figures.overall === null && (await findEvaluation(store, params.evaluation)) === undefined) {
        throw notFound('evaluation', params.evaluation);
      }
      return figures;
    },
  );
};

const ids = Type.Array(Type.String());
const comparedFigure = named('ComparedFigure', {
  name: Type.String(),
  ...Object.fromEntries(['a', 'b', 'difference', 'low', 'high', 'greater'].map((name) => [name, Type.Number()])),
});

const comparisonText = [
  '`a` is the evaluation of the path, `b` the one of `with`. Questions of both are paired by their words and gold answers and resampled',
  '(a seeded paired bootstrap); `low` and `high` bound the difference b - a at `confidence`, `greater` is the share of draws in which b is',
  'greater. The command `evaluate compare` makes more draws.',
].join(' ');

/** Two evaluations beside each other. */
export const comparisonRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/evaluations/:evaluation/compare',
    {
      schema: {
        ...{ tags: ['evaluations'], operationId: 'compareEvaluations', summary: 'The difference of two evaluations, paired by question' },
        ...{ description: comparisonText, params: Type.Object({ evaluation: idText }), querystring: queryOf({ with: idText }) },
        response: answers(
          named('EvaluationComparison', {
            ...{ a: Type.String(), b: Type.String(), paired_by: Type.String(), questions: Type.Integer() },
            ...{ only_a: Type.Integer(), only_b: Type.Integer(), left_out_a: ids, left_out_b: ids },
            ...{ draws: Type.Integer(), confidence: Type.Number(), figures: Type.Array(comparedFigure) },
          }),
        ),
      },
    },
    async ({ params: { evaluation: a }, query: { with: b } }) => {
      for (const id of [a, b]) if ((await findEvaluation(store, id)) === undefined) throw notFound('evaluation', id);
      const { pairedBy, questions, onlyA, onlyB, leftOutA, leftOutB, draws, confidence, figures } = await readComparison(store, a, b);
      const leftOut = { only_a: onlyA, only_b: onlyB, left_out_a: leftOutA, left_out_b: leftOutB };
      return { a, b, paired_by: pairedBy, questions, ...leftOut, draws, confidence, figures };
    },
  );
};

/** Records that could not be processed. */
export const deadLetterRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/dead-letters',
    {
      schema: {
        tags: ['operation'],
        operationId: 'listDeadLetters',
        summary: 'Records that could not be processed, newest first',
        querystring: queryOf({ ...deadLetters.query, topic, partition, offset, reason, run }),
        response: deadLetters.response,
      },
    },
    async ({ query }) => listDeadLetters(store, query),
  );
};
