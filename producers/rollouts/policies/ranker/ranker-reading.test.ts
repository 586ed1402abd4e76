import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../../../../streams/core/agents.ts';
import { createRandom } from '../../../../streams/core/random.ts';
import { choose } from './choose.ts';
import { featureNames, RANKER_WIDTH } from './features.ts';
import { foundBy, pageOf } from './page.ts';
import { readQuestion } from './question.ts';
import { spansOf } from './spans.ts';
import { createViews } from './view.ts';
import { THREE, TWO, failed, signal, tools } from './ranker.testing.ts';

describe('reading', () => {
  it('parses a question', () => {
    const two = readQuestion(TWO);
    expect(two).toMatchObject({ pages: 1, places: [{ told: [{ spans: ['Vienna'] }], lead: undefined }], asksForDate: false });
    expect(two.last.text).toBe('capital is Vienna');
    const three = readQuestion(THREE);
    expect(three).toMatchObject({
      pages: 2,
      places: [
        { told: [], lead: { text: 'has the shortest land border with the country' } },
        { told: [{ spans: ['La Marseillaise'] }], lead: undefined },
      ],
    });
    expect(readQuestion('Who leads the place whose currency is forints?')).toMatchObject({
      places: [{ told: [{ spans: ['forints'] }] }],
      asksForPerson: true,
    });
    expect(readQuestion('On which date is the holiday of the country whose capital is Rome?')).toMatchObject({
      pages: 1,
      asksForDate: true,
    });
    expect(readQuestion('When did it end?')).toMatchObject({ pages: 1, asksForDate: true });
  });
  it('groups the statements about a place, and recognizes bounds and initials', () => {
    const { places, last } = readQuestion(
      'On which date is the national holiday of the country whose highest point has a name beginning with T and that has the longest land border with the country whose median age is between 30 and 34 years, whose total area is 1,389 sq km and whose capital is Vienna?',
    );
    expect(places).toMatchObject([
      {
        told: [{ text: 'highest point has a name beginning with T', vague: { initial: 'T' }, labelWords: new Set(['highest', 'point']) }],
        lead: { text: 'has the longest land border with the country' },
      },
      {
        told: [
          { vague: { low: 30, high: 34 }, labelWords: new Set(['median', 'age']) },
          { text: 'total area is 1,389 sq km', vague: undefined, spans: ['1,389'] },
          { text: 'capital is Vienna', vague: undefined },
        ],
        lead: undefined,
      },
    ]);
    expect(last.text).toBe('median age is between 30 and 34 years total area is 1,389 sq km capital is Vienna');
  });
  it('recognizes a page by exact statements, and gives vague ones less weight', () => {
    const page = (median: string, area: string) =>
      pageOf({
        ...failed,
        status: 'ok',
        text: `# X\n\n- **Median age:** ${median}\n- **Area, total:** ${area}\n- **Capital, name:** Vienna`,
      });
    const fitOf = (...lines: Parameters<typeof page>): number =>
      createViews(
        readQuestion('What is the anthem of the country whose median age is between 30 and 34 years and whose total area is 1,389 sq km?'),
      ).page(page(...lines)).fits[0]!;
    expect(fitOf('33.1 years (2015 est.)', '1,389 sq km')).toBe(1);
    expect(fitOf('35 years', '1,389 sq km')).toBeCloseTo(1 / 1.3);
    expect(fitOf('31 years', '777 sq km')).toBeLessThan(0.5);
  });
  it('reads labels, links and numbers off a page', async () => {
    const page = pageOf(await tools[1]!.call('factbook://europe/austria', signal));
    expect(page).toMatchObject({ url: 'factbook://europe/austria', title: 'Austria' });
    const borders = page.lines.find(({ label }) => label === 'Land boundaries, border countries')!;
    expect(borders.links).toContainEqual({ name: 'Germany', url: 'factbook://europe/germany', number: 801 });
    expect(borders.text).toContain('Germany 801 km');
    expect(createViews(readQuestion(TWO)).page(page).fits).toEqual([1]);
    expect(createViews(readQuestion(THREE)).page(page).fits[1]).toBeLessThan(1);
  });
  it('cuts spans in every way', () => {
    const cut = (text: string): Record<string, string[]> =>
      Object.fromEntries(spansOf(text).map(({ text: span, cuts }) => [span, [...cuts]]));
    expect(cut('Grossglockner 3,798 m')).toMatchObject({ Grossglockner: ['unmeasured'], 'Grossglockner 3,798 m': ['whole', 'fragment'] });
    expect(cut('"Nokoreach" (Royal Kingdom)')).toMatchObject({ Nokoreach: ['quoted'] });
    expect(cut('National Day, 26 October (1955)')).toMatchObject({ '26 October': ['date'], 'National Day': ['fragment'] });
    expect(cut('laris (GEL) per US dollar -')).toMatchObject({ laris: ['before_parenthesis'] });
    expect(cut('A B/C D')).toMatchObject({ 'A B': ['slash_first'], 'C D': ['slash_second'] });
    expect(cut('')).toEqual({});
  });
  it('never throws, whatever a tool or a user writes', () => {
    const part = fc.constantFrom(
      '- **',
      ':** ',
      '**',
      '[a](',
      ') 7 km',
      '\n',
      '\n\n',
      '#',
      '"',
      '(',
      '/',
      '1 May 2000',
      'Ä',
      ' ',
      'whose ',
      '[Doc 1](',
      '\ud800',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(part).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, text, (content, asked) => {
        const question = readQuestion(asked);
        const result: ToolResult = { status: 'ok', errorType: '', text: content, items: [{ url: 'u', title: 't' }], cacheHit: false };
        const views = createViews(question);
        for (const { row } of views.page(pageOf(result)).answers) for (const value of row) expect(Number.isFinite(value)).toBe(true);
        expect(views.results(foundBy(result))).toHaveLength(1);
        expect(pageOf({ ...result, items: [] }).url).toBe('');
      }),
    );
  });
  it('has a name for every column', () => {
    expect(new Set(featureNames).size).toBe(RANKER_WIDTH);
  });
});

describe('choosing', () => {
  it('draws by the softmax, with probabilities that add up', () => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ min: -50, max: 50, noNaN: true }), { minLength: 1, maxLength: 20 }),
        fc.double({ min: 0, max: 0.9999, noNaN: true }),
        (logits, chance) => {
          const { chosen, logprob, entropy } = choose(logits, chance);
          expect(chosen).toBeGreaterThanOrEqual(0);
          expect(chosen).toBeLessThan(logits.length);
          const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
          expect(logprob).toBeCloseTo(logits[chosen]! - Math.log(total), 3);
          expect(entropy).toBeGreaterThanOrEqual(-1e-9);
          expect(choose(logits, undefined).chosen).toBe(logits.indexOf(Math.max(...logits)));
        },
      ),
    );
  });
  it('follows the probabilities', () => {
    const random = createRandom(9);
    const counts = [0, 0];
    for (let draw = 0; draw < 4_000; draw += 1) counts[choose([0, Math.log(3)], random()).chosen]! += 1;
    expect(counts[1]! / 4_000).toBeCloseTo(0.75, 1);
    expect(choose([], 0.5)).toEqual({ chosen: -1, logprob: 0, entropy: 0 });
  });
});
