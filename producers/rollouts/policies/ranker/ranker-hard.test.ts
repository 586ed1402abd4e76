import { describe, expect, it } from 'vitest';
import type { Observation, PastTurn } from '../../../../streams/core/agents.ts';
import { candidatesOf } from './candidates.ts';
import { featureNames } from './features.ts';
import type { FeatureName } from './features.ts';
import { pageOf } from './page.ts';
import { readQuestion } from './question.ts';
import { keysOf, nameKey, namedBy } from './relations.ts';
import { standingOf } from './state.ts';
import { statedBy } from './statements.ts';
import { createViews } from './view.ts';
import { THREE, TWO, failed, signal, tools } from './ranker.testing.ts';

const linesOf = (...lines: readonly string[]) => pageOf({ ...failed, status: 'ok', text: ['# X', '', ...lines].join('\n') }).lines;
const toldIn = (clause: string) => readQuestion(`What is the anthem of the country whose ${clause}?`).places[0]!.told[0]!;

const search = (query: string): PastTurn['action'] => ({ tool: 'search', query });
const access = (name: string): PastTurn['action'] => ({ tool: 'access', url: `factbook://${name}` });

async function after(text: string, ...actions: readonly PastTurn['action'][]) {
  const history: Observation['history'][number][] = [];
  for (const action of actions) {
    const result =
      action?.tool === 'search'
        ? await tools[0]!.call(action.query, signal)
        : await tools[1]!.call(action?.tool === 'access' ? action.url : '', signal);
    history.push({ action, result, text: '' });
  }
  const question = readQuestion(text);
  const standing = standingOf({ question: text, turn: history.length, maxTurns: 12, history }, question, createViews(question));
  const candidates = candidatesOf({ question, standing, turn: history.length, maxTurns: 12 });
  const of = (name: FeatureName) => (row: Float32Array) => row[featureNames.indexOf(name)]!;
  const most = (name: FeatureName) =>
    candidates
      .filter(({ row }) => of(name)(row) === 1)
      .map(({ action }) => ('url' in action ? action.url : 'query' in action ? action.query : action.answer));
  return { standing, candidates, of, most };
}

describe('statements', () => {
  it.each([
    ['number of airports in 2013 was between 70 and 80', '- **Airports:** 74 (2013)', true],
    ['number of airports in 2013 was between 70 and 80', '- **Airports:** 81 (2013)', false],
    ['number of airports in 2013 was between 70 and 80', '- **Area, total:** 74 sq km', undefined],
    ['population in 2015 was between 1,000,000 and 2,000,000', '- **Population:** 1.2 million (2015)', true],
    ['capital has a name beginning with V', '- **Capital, name:** Vienna', true],
    ['capital has a name beginning with V', '- **Capital, name:** Bern', false],
    ['lowest point has a name with the word "Caspian"', '- **Elevation extremes, lowest point:** Caspian Sea -28 m', true],
    ['lowest point has a name with the word "Caspian"', '- **Elevation extremes, lowest point:** Dead Sea -408 m', false],
    ['lowest point has a name with the word "Caspian"', '- **Climate:** temperate', undefined],
  ])('%s, by %s: %s', (clause, line, holds) => {
    expect(statedBy(toldIn(clause), linesOf(line))).toBe(holds);
  });

  it('are compared with the total, and with the line of their unit', () => {
    const ages = ['- **Life expectancy at birth, total population:** 72 years', '- **Life expectancy at birth, male:** 69 years'];
    expect(statedBy(toldIn('life expectancy at birth in 2015 was between 71 and 73 years'), linesOf(...ages))).toBe(true);
    const users = ['- **Internet users, total:** 19.5 million', '- **Internet users, percent of population:** 28.8% (2014 est.)'];
    const clause = 'share of Internet users in 2014 was between 20 and 40 percent of the population';
    expect(statedBy(toldIn(clause), linesOf(...users))).toBe(true);
  });
});

describe('relations', () => {
  it('match names in any word order, and by initials', () => {
    expect(nameKey('Korea, South')).toBe(nameKey('South Korea'));
    expect(keysOf('United Arab Emirates')).toEqual(['arab emirate united', 'uae']);
  });

  it('take the largest, the smallest, or all of the named places', () => {
    const [line] = linesOf('- **Exports - partners:** Denmark 60.7%, Japan 10.4%, China 8.4% (2014)');
    const meant = (direction: number) =>
      namedBy(line!, direction)
        .filter(({ isMeant }) => isMeant)
        .map(({ name }) => name);
    expect([meant(1), meant(-1), meant(0)]).toEqual([['Denmark'], ['China'], ['Denmark', 'Japan', 'China']]);
  });
});

describe('a hard question', () => {
  const BORDER =
    'What is the highest point of the country whose capital has a name beginning with B and that has a land border with the country whose capital is Vienna?';
  const EXPORTS =
    'What is the capital of the country that took the largest share of the 2014 exports of the country whose former name has the word "Friendly"?';

  it('is distinguished from a plain one, which has none of its features', async () => {
    expect([TWO, THREE, BORDER, EXPORTS].map((text) => readQuestion(text).isHard)).toEqual([false, false, true, true]);
    const { candidates } = await after(THREE, search('national anthem is "La Marseillaise"'), access('europe/france'));
    const first = featureNames.indexOf('hard_found');
    for (const { row } of candidates) expect([...row.subarray(first)].every((value) => value === 0)).toBe(true);
  });

  it('seeks the places that follow from the start and contradict no statement', async () => {
    const { standing } = await after(BORDER, search('capital is Vienna'), access('europe/austria'), access('europe/italy'));
    const { plan } = standing;
    expect(plan?.found('factbook://europe/italy')).toBe(0);
    expect(plan?.sought('factbook://europe/slovakia')).toMatchObject({ fit: 0.5, want: 0.5 });
    expect(plan?.sought('factbook://europe/france')).toBeUndefined();
  });

  it('finds the place when all statements hold, and answers from it even if other pages were read since', async () => {
    const { standing, candidates, of, most } = await after(
      BORDER,
      search('capital is Vienna'),
      access('europe/austria'),
      access('europe/germany'),
      access('europe/italy'),
      access('europe/slovenia'),
    );
    expect(standing.plan?.bestFound).toBe(1);
    const best = candidates.filter(({ row }) => of('answer_best_on_found')(row) === 1).map(({ action }) => action);
    expect(best).toContainEqual({ tool: 'answer', answer: 'Zugspitze' });
    expect(most('answer_is_most_found').length).toBeGreaterThan(0);
  });

  it('searches for the name of a place that a page mentions without a link, and opens its page', async () => {
    const before = await after(EXPORTS, search('former name "Friendly"'), access('australia-oceania/tonga'));
    const [name] = before.most('query_is_most_wanted');
    expect(name).toBeDefined();
    const then = await after(EXPORTS, search('former name "Friendly"'), access('australia-oceania/tonga'), search(name!));
    expect(then.most('query_name')).toEqual([]);
    expect(then.most('access_is_most_wanted')).toHaveLength(1);
  });

  it('searches for a place whose own page states the relation', async () => {
    const text =
      'What is the capital of the country whose independence dates from 1948 and that got the largest share of its 2014 imports from the country whose capital has a name with the word "Delhi"?';
    const { most, standing } = await after(text, search('capital "Delhi"'), access('south-asia/india'));
    expect(most('query_relation')).toEqual(['import partner India']);
    expect(standing.plan?.bestFound).toBe(0);
    const found = await after(text, search('capital "Delhi"'), access('south-asia/india'), access('south-asia/sri-lanka'));
    expect(found.standing.plan?.found('factbook://south-asia/sri-lanka')).toBe(1);
  });
});
