import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { age, duration, figure, percent, versions } from './kit/format.ts';
import { visible } from './kit/visible.ts';
import { ROW_PX, rowsAt, scrollFor } from './kit/window.ts';
import { columnsOf, placeOfStep, placesOf, stepOf, stepsBetween, zoomSteps } from './charts/columns.ts';
import { axisIn, chartsLike, isEmpty, lastValueOf, mainCharts, reduction, reductionOf } from './charts/figures.ts';
import { firstRequests } from './data/addresses.ts';
import { isUnder, waitFor } from './data/answer-cache.ts';
import type { ApiTrajectory, ApiTrajectoryReport } from './data/shapes.ts';
import { countedAttempt, fateOf } from './pages/fate.ts';
import { filterQuery } from './pages/filters.ts';
import { failures, minimap, nextOf, placeOf, rowAt, spanOf } from './pages/outline.ts';
import { pressKey, SEQUENCE_MS } from './shell/key-sequences.ts';
import { address, matchPath } from './shell/patterns.ts';
import { placesFor } from './shell/places.ts';

describe('figures', () => {
  it('never show a missing value as zero', () => {
    expect([figure(null), percent(undefined), duration(NaN), age(null, 0), versions(-1, -1)]).toEqual(['–', '–', '–', '–', 'v?']);
  });

  it('are short and exact where they can be', () => {
    expect([figure(0), figure(0.12345), figure(1234), figure(1_234_567), figure(0.00001)]).toEqual([
      '0',
      '0.123',
      '1,234',
      '1.23 M',
      '1.0e-5',
    ]);
    expect([percent(0.1234), duration(1.25), duration(1_250), duration(61_000)]).toEqual(['12.3 %', '1.3 ms', '1.25 s', '1 min 1 s']);
    expect([versions(3, 3), versions(3, 7)]).toEqual(['v3', 'v3–v7']);
    expect(age('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:03:20Z'))).toBe('3 min ago');
  });
});

it('texts show hidden characters', () => {
  expect(visible('a\u202eb\u200bc\u0007')).toBe('a‹U+202E›b‹U+200B›c‹U+0007›');
  expect(visible('\u001b[31mred\u001b[0m\n\tplain')).toBe('red\n\tplain');
  const hidden = ['\u00ad', '\u034f', '\u061c', '\u180e', '\u2028', '\u2029', '\ufe00', '\ufe0f', '\u{e0000}', '\u{e007f}', '\u{e01ef}'];
  for (const one of hidden) expect(visible(one)).toBe(`‹U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? ''}›`);
  expect(visible('Ouagadougou 東京 é\r\n')).toBe('Ouagadougou 東京 é\r\n');
});

describe('windows', () => {
  it('contain the visible rows, also after scrolling to a row', () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.integer({ min: 100, max: 2_000 }), fc.nat(100_000), (count, height, row) => {
        fc.pre(row < count);
        const top = scrollFor(row, 0, height);
        const { from, to } = rowsAt(top, height, count);
        expect(row).toBeGreaterThanOrEqual(from);
        expect(row).toBeLessThan(to);
        expect(to - from).toBeLessThanOrEqual(height / ROW_PX + 26);
      }),
    );
  });
});

describe('addresses', () => {
  it('parse back to their parts', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (run, trajectory) => {
        fc.pre(![run, trajectory].some((text) => /[\ud800-\udfff]/.test(text)));
        expect(matchPath('/runs/:run/t/:trajectory', address('/runs/:run/t/:trajectory', { run, trajectory }))).toEqual({
          run,
          trajectory,
        });
      }),
    );
  });

  it('match at most one pattern', () => {
    expect(matchPath('/', '/')).toEqual({});
    expect(matchPath('/runs/:run', '/runs/a/')).toEqual({ run: 'a' });
    expect(matchPath('/runs/:run', '/runs/%')).toBeUndefined();
    expect(matchPath('/runs/:run', '/runs/a/steps')).toBeUndefined();
  });

  it('pass on the filters and nothing else', () => {
    expect(filterQuery(new URLSearchParams('min_reward=1&turn=3&order=asc&tool='))).toBe('min_reward=1&order=asc');
  });
});

describe('keys', () => {
  const bindings = ['g t', 'g g', 'j', 'Ctrl k'];
  it('form sequences', () => {
    const first = pressKey(bindings, undefined, { name: 'g', at: 0 });
    expect(first.binding).toBeUndefined();
    expect(pressKey(bindings, first.waiting, { name: 't', at: 100 }).binding).toBe('g t');
    expect(pressKey(bindings, first.waiting, { name: 'j', at: 100 }).binding).toBe('j');
    expect(pressKey(bindings, first.waiting, { name: 't', at: SEQUENCE_MS + 1 }).binding).toBeUndefined();
  });
});

describe('responses', () => {
  it('are refreshed by their address and by a parent path', () => {
    const urls = ['/v1/runs/demo', '/v1/runs/demo?x=1', '/v1/runs/demo/curves', '/v1/runs/demo-2', '/v1/runs/demo-2/curves'];
    expect(urls.filter((url) => isUnder(url, '/v1/runs/demo'))).toEqual(urls.slice(0, 3));
    expect(urls.filter((url) => isUnder(url, '/v1/runs/demo?'))).toEqual(urls.slice(0, 2));
  });

  it('are requested at most a tenth of the time, and eventually again', () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(5_000), fc.nat(5_000), (askedAtMs, tookMs, after) => {
        const waitMs = waitFor(askedAtMs + after, { askedAtMs, tookMs });
        expect(waitMs).toBeLessThanOrEqual(15_000);
        expect(after + waitMs).toBeGreaterThanOrEqual(Math.min(15_000, 10 * tookMs));
      }),
    );
  });

  it('that a page needs follow from its address', () => {
    const at = (path: string): readonly string[] => firstRequests(new URL(path, 'http://localhost'));
    expect(at('/runs/a%20b?from=3&to=9')).toEqual([
      '/v1/runs/a%20b',
      expect.stringContaining('/v1/runs/a%20b/curves?points=400&from_step=3&to_step=9&series='),
    ]);
    const [report, outline] = ['/v1/trajectories/a-g1.0?run=a', '/v1/trajectories/a-g1.0/outline?run=a&attempt=2'];
    for (const query of ['', '&turn=499', '&turn=x'])
      expect(at(`/runs/a/t/a-g1.0?attempt=2${query}`)).toEqual([report, `${outline}&limit=500`]);
    for (const query of ['turn=500', 'find=x', 'follow=1']) expect(at(`/runs/a/t/a-g1.0?attempt=2&${query}`)).toEqual([report, outline]);
    // which attempt counts is in the report
    expect(at('/runs/a/t/a-g1.0')).toEqual(['/v1/trajectories/a-g1.0?run=a']);
    expect(at('/runs/a/t/a-g1.0?attempt=0')).toHaveLength(2);
    expect([at('/').length, at('/sql')]).toEqual([1, []]);
  });
});

it('the palette finds steps and trajectories', () => {
  const known = { run: 'a', runs: ['a', 'a-b'] };
  expect(placesFor('12', known)[0]).toEqual({ name: 'Step 12 of a', to: '/runs/a/steps/12' });
  expect(placesFor('a-b-g1.0', known)[0]?.to).toBe('/runs/a-b/t/a-b-g1.0');
  expect(placesFor('sql', known).map(({ to }) => to)).toContain('/sql');
});

const outline = {
  ...{
    attempt: 0,
    turns: 3,
    is_whole: true,
    tools: ['search', ''],
    statuses: ['ok', '', 'error'],
    error_types: ['', 'not_found'],
    workers: ['w'],
  },
  columns: {
    ...{ turn: [0, 2, 5], tool: [0, 0, 1], status: [0, 2, 1], error_type: [0, 1, 0], generation_ms: [10, 20, 5], tool_ms: [5, 50, 0] },
    ...{ at_ms: [1_000, 2_000, 3_000], tool_at_ms: [1_010, 2_020, 3_005], version_max: [1, 2, 2], version_min: [1, 1, 2] },
  },
};

describe('outlines', () => {
  it('find turns by number, failures, and the next failure in either direction', () => {
    expect([placeOf(outline, 0), placeOf(outline, 2), placeOf(outline, 3), placeOf(outline, 9)]).toEqual([0, 1, 2, 3]);
    expect(failures(outline)).toEqual([1]);
    expect([nextOf([1, 4], 1, 1), nextOf([1, 4], 4, 1), nextOf([1, 4], 1, -1), nextOf([], 0, 1)]).toEqual([4, 1, 4, undefined]);
    expect(rowAt(outline, 1)).toMatchObject({ turn: 2, tool: 'search', failed: true, errorType: 'not_found' });
  });

  it('span from the first generation to the last call, and show every failure in the minimap', () => {
    expect(spanOf(outline)).toEqual({ startMs: 1_000, endMs: 3_005 });
    expect(minimap(outline, 1)).toEqual([{ ms: 70, failed: 1 / 3, version: 2 }]);
  });
});

describe('curves', () => {
  const curves = { every: 2, steps: [2, 4], first_steps: [1, 3], series: { a: [1, null] }, low: { a: [0, null] }, high: { a: [9, null] } };
  it('have a band, and say how they were downsampled', () => {
    expect(columnsOf({ own: curves }, { title: 'A', series: ['a'] })).toEqual([Float64Array.of(2, 4), [1, null], [0, null], [9, null]]);
    expect(reduction(curves)).toContain('2 steps');
    const none = { ...curves, series: { b: [null, null] } };
    expect([isEmpty(curves, { title: 'A', series: ['a'] }), isEmpty(none, { title: 'B', series: ['b'] })]).toEqual([false, true]);
    expect([isEmpty(none, { title: 'C', series: ['c'] }), axisIn(none, 'time'), axisIn(none, 'step')]).toEqual([false, 'step', 'step']);
  });

  it('end with their last value, of sparse charts the last one that was recorded', () => {
    const sparse = { title: 'A', series: ['a'], sparse: true } as const;
    expect([lastValueOf(curves, sparse, 'a'), lastValueOf(curves, { title: 'A', series: ['a'] }, 'a')]).toEqual([1, null]);
    expect(lastValueOf(curves, sparse, 'b')).toBeUndefined();
  });

  it('copy no data, and have no band if each bucket is a single step', () => {
    const steps = { every: 1, steps: [2, 3], first_steps: [2, 3], series: { a: [1, 2] } };
    const [x, last, low, high] = columnsOf({ own: steps }, { title: 'A', series: ['a'] });
    expect(last).toBe(steps.series.a);
    expect(x).toBe(columnsOf({ own: steps }, { title: 'B', series: [] })[0]);
    expect([low, high]).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  it('of several runs have values at the steps of each run, and gaps of one do not affect another', () => {
    const own = { every: 1, steps: [1, 3], first_steps: [1, 3], series: { a: [1, null] } };
    const other = { every: 1, steps: [2, 3], first_steps: [2, 3], series: { a: [5, 6] } };
    const [x, last, , , theirs] = columnsOf({ own, others: [other] }, { title: 'A', series: ['a'] });
    expect([x, last, theirs]).toEqual([Float64Array.of(1, 2, 3), [1, undefined, null], [undefined, 5, 6]]);
    const banded = { ...other, every: 2, low: { a: [4, 5] }, high: { a: [7, 8] } };
    const [, , , , , low, high] = columnsOf({ own, others: [banded] }, { title: 'A', series: ['a'] });
    expect([low, high]).toEqual([
      [undefined, 4, 5],
      [undefined, 7, 8],
    ]);
    expect([reductionOf('b', banded), reductionOf('b\u202e', { ...other, steps: [] })]).toEqual([
      'b: 1 point = 2 steps: last value, band from least to most',
      'b‹U+202E› has no steps here',
    ]);
  });

  it('map back to steps from any axis', () => {
    const at = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:10Z', '2026-01-01T00:00:20Z'];
    const over = { every: 2, steps: [2, 4, 6], first_steps: [1, 3, 5], series: { at, version_after: [12, 14, 16] } };
    const start = Date.parse(at[0] ?? '') / 1_000;
    expect([...placesOf(over, 'version')]).toEqual([12, 14, 16]);
    expect([...placesOf(over, 'time')]).toEqual([start, start + 10, start + 20]);
    expect([stepsBetween(over, 'step', [1.2, 3.7]), stepsBetween(over, 'version', [13, 15])]).toEqual([
      [1, 4],
      [3, 6],
    ]);
    expect([stepOf(over, 'step', 4), stepOf(over, 'version', 14), stepOf(over, 'time', start + 10)]).toEqual([4, 4, 4]);
    expect([placeOfStep(over, 'time', 3), placeOfStep(over, 'version', 99), placeOfStep(over, 'step', 3)]).toEqual([start + 10, 16, 3]);
  });

  it('are zoomed around a step, which keeps its place, up to the ends of the run', () => {
    const shown = { steps: [150, 200], first_steps: [101, 151] };
    const whole = { from: undefined, to: undefined };
    const asked = { from: 101, to: 200 };
    expect(zoomSteps(shown, { at: 150, direction: 'in', asked: whole })).toEqual({ from: 125, to: 175 });
    expect(zoomSteps(shown, { at: 150, direction: 'out', asked })).toEqual({ from: 51, to: 251 });
    expect(zoomSteps(shown, { at: 200, direction: 'out', asked: { from: 101, to: 251 } })).toEqual({ from: 1, to: undefined });
    expect(zoomSteps(shown, { at: 999, direction: 'out', asked: { from: 0, to: 200 } })).toEqual({ from: undefined, to: 201 });
    expect(zoomSteps(shown, { at: 150, direction: 'out', asked: whole })).toEqual(whole);
    const single = { steps: [7], first_steps: [7] };
    expect(zoomSteps(single, { at: 7, direction: 'in', asked: { from: 7, to: 7 } })).toEqual({ from: 7, to: 7 });
    expect(zoomSteps(single, { at: 7, direction: 'out', asked: { from: 7, to: 7 } })).toEqual({ from: 6, to: 8 });
  });

  it('are selected by a pattern', () => {
    expect(chartsLike(mainCharts, '^stale')?.map(({ title }) => title)).toEqual(['Staleness']);
    expect([chartsLike(mainCharts, ''), chartsLike(mainCharts, '(')]).toEqual([mainCharts, undefined]);
    expect(mainCharts.find(({ series }) => series.includes('tokens_mean'))?.title).toContain('Generated');
  });
});

describe('the fate of a sample', () => {
  const attempt = {
    attempt: 0,
    status: 'requested',
    requested_at: 't0',
    started_at: null,
    worker_id: '',
    expired_reason: '',
    expired_at: null,
    result: null,
  };
  const report = {
    trajectory_id: 'g.0',
    run_id: 'r',
    group_id: 'g',
    purpose: 'train',
    question: 'Q',
    attempts: [attempt],
    training: [],
    collected: [],
    discarded: [],
    rewound: [],
  };
  it('ends at the last stage in the log', () => {
    expect(fateOf(report, 0).map(({ name, state }) => [name, state])).toEqual([
      ['asked for', 'done'],
      ['started', 'open'],
    ]);
    expect(fateOf({ ...report, attempts: [{ ...attempt, expired_reason: 'silent' }] }, 0).at(-1)).toMatchObject({
      name: 'given up',
      note: 'silent',
    });
    const discarded = [{ attempt: 0, reason: 'uniform_group', version: 3, staleness_total: 1, at: null }];
    expect(fateOf({ ...report, discarded }, 0).at(-1)).toMatchObject({ name: 'discarded: uniform group', step: 4 });
    const training = [{ step: 4, attempt: 0, advantage: 0.5, staleness_total: 1, queue_ms: 5, at: null }];
    expect(fateOf({ ...report, training, discarded }, 0).at(-1)).toMatchObject({ name: 'trained in step 4', step: 4 });
    expect(fateOf({ ...report, purpose: 'eval' }, 0).at(-1)).toMatchObject({ name: 'never trained on' });
    expect(fateOf(report, 7)).toEqual([]);
  });

  const result = { status: 'answered', reward: 0.5, finished_at: '2026-01-01T00:00:09Z' } as ApiTrajectory;
  const namesOf = (told: Partial<ApiTrajectoryReport>, number = 0): readonly string[] =>
    fateOf({ ...report, ...told }, number)
      .slice(2)
      .map(({ name }) => name);
  const account = { attempt: 0, advantage: 0.5, staleness_total: 1, queue_ms: 5, at: null };

  it('names the batch in a run that only collects, and a rewind after the step that trained on it', () => {
    const ended = { attempts: [{ ...attempt, result }] };
    expect(namesOf({ ...ended, collected: [{ ...account, batch: 3 }] })).toEqual(['answered', 'collected in batch 3']);
    const training = [{ ...account, step: 4 }];
    expect(namesOf({ ...ended, training })).toEqual(['answered', 'trained in step 4']);
    const rewound = [{ attempt: 0, version: 9, to_version: 2, at: null }];
    expect(namesOf({ ...ended, training, rewound })).toEqual(['answered', 'trained in step 4', 'discarded: rewound']);
  });

  it('says that an attempt was given up, before or after it finished, and that it does not count once its group has closed', () => {
    const given = (at: string) => ({ ...attempt, result, expired_reason: 'silent', expired_at: `2026-01-01T00:00:0${at}Z` });
    expect(namesOf({ attempts: [given('1')] })).toEqual(['given up', 'answered', 'not decided']);
    expect(namesOf({ attempts: [given('1')], training: [{ ...account, attempt: 1, step: 4 }] })).toEqual([
      'given up',
      'answered',
      'not counted',
    ]);
    const discarded = [{ attempt: 0, reason: 'incomplete', version: 3, staleness_total: 1, at: null }];
    expect(namesOf({ attempts: [given('9')], discarded })).toEqual(['answered', 'given up', 'discarded: incomplete']);
  });

  it('is shown of the attempt that was kept, or else of the first one with a result', () => {
    const attempts = [attempt, { ...attempt, attempt: 1, result }, { ...attempt, attempt: 2, result }];
    expect(countedAttempt({ ...report, attempts })).toBe(1);
    expect(countedAttempt({ ...report, attempts: [attempt, { ...attempt, attempt: 1 }] })).toBe(0);
    expect(countedAttempt({ ...report, attempts, training: [{ ...account, attempt: 2, step: 4 }] })).toBe(2);
    expect(countedAttempt({ ...report, attempts, collected: [{ ...account, attempt: 2, batch: 4 }] })).toBe(2);
    expect(countedAttempt({ ...report, attempts: [] })).toBe(0);
  });
});
