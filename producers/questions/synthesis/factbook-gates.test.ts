import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { profileNamed } from '../../factbook/profiles.ts';
import { attributes } from '../attributes.ts';
import type { Clause, CountryDescription } from './clause.ts';
import { isSearchable, misreadIn, needless, outdatedIn } from './factbook-gates.ts';
import type { AskableAttribute } from './factbook-gates.ts';
import { solve } from './fitting.ts';
import { boundsAround, figureOf, quantities, sayNumber, yearOf } from './quantities.ts';
import { relationOf } from './relations.ts';

const austria = profileNamed('Austria')!;
const france = profileNamed('France')!;
const attribute = (key: string) => attributes.find((one) => one.key === key)!;
const quantity = (key: string) => quantities.find((one) => one.key === key)!;
const says = (key: string, value: string): Clause => ({ kind: 'says', attribute: attribute(key), value });
const between = (key: string, [low, high]: readonly [number, number], year?: number): Clause => ({
  ...{ kind: 'between', quantity: quantity(key), year, low, high },
});
const related = (key: string, to: CountryDescription, year?: number): Clause => ({ kind: 'related', relation: relationOf(key), year, to });
const all = (...clauses: readonly Clause[]): CountryDescription => ({ kind: 'clauses', clauses });
const asked = (description: CountryDescription, end = austria, answer = 'Vienna') => ({
  state: { description, end, ask: attribute('capital') as AskableAttribute },
  answers: [answer],
});

describe('a clause is needed', () => {
  const euros = says('currency', 'euros');
  it('when the other clauses also fit countries with other answers', () => {
    const many = between('population', [8_000_000, 10_000_000], 2015);
    expect(solve(all(euros, many))).toEqual([austria]);
    expect(needless(asked(all(euros, many)))).toEqual([]);
    expect(needless(asked(all(euros, says('internet_code', '.at'))))).toEqual(['the country whose exchange rates are quoted in euros']);
  });
  it('in a nested description, when another country would lead elsewhere', () => {
    const belgium = all(says('internet_code', '.be'));
    const bordering = related('border', belgium);
    expect(needless(asked(all(related('longest_border', belgium)), france, 'Paris'))).toEqual([]);
    expect(needless(asked(all(says('internet_code', '.fr'), bordering), france, 'Paris'))).toHaveLength(1);
  });
  it('not because of countries whose figure is unclear or of another year', () => {
    const population = figureOf(austria, quantity('population'));
    expect(population).toMatchObject({ kind: 'figure', year: 2015 });
    // there are no figures for 1999, so without the internet code no country is known to fit
    const wrongYear = between('population', [0, 2_000_000_000], 1999);
    expect(needless(asked(all(wrongYear, says('internet_code', '.at'))))).toHaveLength(2);
  });
});

describe('what changes with time', () => {
  it('must name its year', () => {
    const dollars = (year?: number) => outdatedIn(all(between('gdp_per_head', [46_000, 47_000], year), says('internet_code', '.at')));
    expect(dollars()).toEqual(['GDP - per capita (PPP) of Austria changes with time, and no year is named']);
    expect(dollars(2014)).toEqual([]);
    expect(dollars(2003)).toEqual(['GDP - per capita (PPP) of Austria is of 2003']);
    expect(outdatedIn(all(between('area', [80_000, 90_000]), says('internet_code', '.at')))).toEqual([]);
  });
  it('includes every office, and trade without a year', () => {
    expect(outdatedIn(all(says('chief_of_state', 'King HARALD V')))[0]).toMatch(/whoever holds the office/);
    const at = all(says('internet_code', '.at'));
    expect(outdatedIn(all(related('export_partner', at)))[0]).toMatch(/^Exports - partners of Austria changes/);
    expect(outdatedIn(all(related('export_partner', at, 2014)))).toEqual([]);
  });
  it('is dated by its field, or by the one line of its table that has a year', () => {
    expect(yearOf(austria, 'GDP - per capita (PPP)')).toBe(2014);
    expect(yearOf(austria, 'Median age, total')).toBe(2015);
    expect(yearOf(austria, 'Area, total')).toBeUndefined();
  });
});

it('finds other readings of the words', () => {
  const inner = all(between('coastline', [1_000, 4_000]), related('border', all(says('internet_code', '.it'))));
  const described = all(related('shortest_border', inner));
  expect(misreadIn(asked(described, austria))).toBeInstanceOf(Array);
  expect(misreadIn(asked(all(says('internet_code', '.at'))))).toEqual([]);
});

it('requires something to search for in the country from which a question starts', () => {
  const vague = all(between('area', [1, 5]));
  expect(isSearchable(vague)).toBe(false);
  expect(isSearchable(all(says('internet_code', '.at'), related('border', vague)))).toBe(false);
  expect(isSearchable(all(related('border', all(says('internet_code', '.at')))))).toBe(true);
});

describe('bounds around a figure', () => {
  it('contain it, and are wider than the bounds before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000_000_000 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (value, at) => {
        let wider = 0;
        for (let found = boundsAround(value, wider, at); found !== undefined; found = boundsAround(value, wider, at)) {
          expect(found[0]).toBeLessThanOrEqual(value);
          expect(found[1]).toBeGreaterThanOrEqual(value);
          const width = found[1] - found[0];
          // bounds are cut at zero
          if (width <= wider) break;
          wider = width;
        }
      }),
    );
    expect(boundsAround(0, 0, 0.5)).toBeUndefined();
  });
  it('are written with thousands separators', () => {
    expect([0, 7, 1_234, 1_234_567, 46.4, 2.855].map(sayNumber)).toEqual(['0', '7', '1,234', '1,234,567', '46.4', '2.855']);
  });
});
