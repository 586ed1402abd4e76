import { describe, expect, it, vi } from 'vitest';
import { checkQuestions } from './check-questions.ts';

vi.setConfig({ testTimeout: 600_000 });

const check = (question: string, ...answers: readonly string[]) =>
  checkQuestions([{ id: 'q', question, answers: answers.length === 0 ? ['Vienna'] : answers }]).faults.map(({ kind }) => kind);

describe('the faults of a question when', () => {
  const cases: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
    ['nothing is wrong', 'What is the capital of the country whose Internet country code is .at?', ['Vienna'], []],
    ['it does not follow the grammar', 'Which capital has the most music?', ['Vienna'], ['unreadable']],
    ['one of its clauses does not', 'What is the capital of the country whose king is Otto?', ['Vienna'], ['unreadable']],
    ['no country fits it', 'What is the capital of the country whose Internet country code is .zz?', ['Vienna'], ['no_country']],
    [
      'several countries fit it',
      'What is the capital of the country whose population is between 1,000,000 and 9,000,000?',
      ['Vienna'],
      ['several_countries'],
    ],
    [
      'a nested description fits several countries',
      'What is the capital of the country that has the longest land border with the country whose total area is between 1 and 9,000,000 sq km?',
      ['Vienna'],
      ['no_country'],
    ],
    ['its answer is wrong', 'What is the capital of the country whose Internet country code is .at?', ['Graz'], ['wrong_answer']],
    [
      'it has two answers',
      'What is the capital of the country whose Internet country code is .at?',
      ['Vienna', 'Wien'],
      ['wrong_answer', 'second_answer'],
    ],
    [
      'the field holds another possible answer',
      'What is the national symbol of the country whose Internet country code is .tz?',
      ['giraffe'],
      ['second_answer'],
    ],
    ['it contains its answer', 'What is the capital of the country whose capital is Vienna?', ['Vienna'], ['told']],
    [
      'its answer is about another neighbor',
      'What is the capital of the country that has the longest land border with the country whose capital is Vienna?',
      ['Prague'],
      ['wrong_answer'],
    ],
  ];
  it.each(cases)('%s', (...[, question, answers, kinds]) => {
    expect(check(question, ...answers)).toEqual(kinds);
  });
  const bordered = 'What is the capital of the country that has the longest land border with the country';
  it.each<[string, string, string, readonly string[]]>([
    [
      'a clause of the country that it asks about can be left out',
      'What is the capital of the country whose coastline is 0 km and whose Internet country code is .at?',
      'Vienna',
      ['needless_clause'],
    ],
    [
      'a clause of a nested country can be left out',
      `${bordered} whose Internet country code is .pt and whose total area is between 90,000 and 100,000 sq km?`,
      'Madrid',
      ['needless_clause'],
    ],
    [
      'one outer clause is enough, so that the other lookups can be skipped',
      'What is the capital of the country whose Internet country code is .es and that has a land border with the country whose Internet country code is .pt?',
      'Madrid',
      ['needless_clause', 'needless_clause', 'needless_clause'],
    ],
    ['nothing can be left out', `${bordered} whose Internet country code is .pt?`, 'Madrid', []],
    ['a figure that changes has no year', 'What is the capital of the country whose population is 8,665,550?', 'Vienna', ['undated']],
    ['a figure that changes has its year', 'What is the capital of the country whose population in 2015 was 8,665,550?', 'Vienna', []],
    [
      'a trade partner has no year',
      'What is the capital of the country that takes the largest share of the exports of the country whose Internet country code is .at?',
      'Berlin',
      ['undated'],
    ],
    [
      'it asks for the holder of an office',
      'Who is the chief of state of the country whose Internet country code is .no?',
      'King HARALD V',
      ['second_answer', 'undated'],
    ],
  ])('%s', (...[, question, answer, kinds]) => {
    expect(check(question, answer)).toEqual(kinds);
  });
  it('it claims a wrong number of lookups', () => {
    const question = { id: 'q', question: `${bordered} whose Internet country code is .pt?`, answers: ['Madrid'] };
    expect(checkQuestions([{ ...question, hops: 3 }])).toMatchObject({ faults: [], lookups: { mean: 3, counts: [0, 0, 0, 1] } });
    expect(checkQuestions([{ ...question, hops: 4 }]).counts).toEqual({ wrong_hops: 1 });
  });
  it('another one has the same words', () => {
    const question = 'What is the capital of the country whose Internet country code is .at?';
    const { counts } = checkQuestions(['a', 'b'].map((id) => ({ id, question, answers: ['Vienna'] })));
    expect(counts).toEqual({ duplicate: 1 });
  });
});
