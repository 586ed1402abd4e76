import { Type } from 'typebox';
import { answers, named, schemaOf } from '../columns.ts';
import { queryOf } from '../list.ts';
import { idText, notFound, runParams, type StoreRoutes } from '../route-kit.ts';
import { answerColumns, readHistory } from './history.reader.ts';

const description = [
  'Each answer of each policy version: how often it was given, its mean reward, and the first trajectory that gave it. Evaluations are',
  'left out. `is_whole` is false when there are more answers than one response holds.',
].join(' ');

const schema = named('QuestionHistory', {
  run_id: Type.String(),
  question_id: Type.String(),
  question: Type.String(),
  items: Type.Array(schemaOf('AnswerOfVersion', answerColumns)),
  is_whole: Type.Boolean(),
});

/** One question of a run. */
export const historyRoutes: StoreRoutes = async (app, { store }) => {
  app.get(
    '/v1/runs/:run/questions/:question',
    {
      schema: {
        ...{
          tags: ['questions'],
          operationId: 'getQuestionHistory',
          summary: 'Answers to one question of a run by policy version',
          description,
        },
        params: Type.Object({ ...runParams.properties, question: idText }),
        querystring: queryOf({}),
        response: answers(schema),
      },
    },
    async ({ params }) => {
      const history = await readHistory(store, params.run, params.question);
      if (history === undefined) throw notFound('answers to question', params.question);
      return history;
    },
  );
};
