import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alignRuns } from './charts/columns.ts';
import { barAt, longestOf, moveWindow, nextBar, packFlow } from './charts/flow-layout.ts';
import { KEPT_EVENTS, linkOf, summaryOf, withEvents, type LiveEvent } from './data/live-shapes.ts';
import type { ApiCurves } from './data/shapes.ts';
import type { ApiFlow } from './data/watch-shapes.ts';
import { alignActs, diffWords } from './pages/align.ts';
import { stripPaths } from './pages/strip-paths.ts';
import { hexOf, headOf, patternOf, verdictOf } from './pages/texts.ts';

describe('the flow', () => {
  const flowOf = (bars: readonly (readonly [number, number])[]): ApiFlow => ({
    ...{ trajectories: bars.length, is_whole: true, max_staleness: 4, fates: ['trained'], reasons: [''], workers: ['w'] },
    ...{ ids: bars.map((_, at) => `t${at}`), versions: { numbers: [], at_ms: [] }, steps: { numbers: [], at_ms: [] } },
    columns: { start_ms: bars.map(([start]) => start), end_ms: bars.map(([, end]) => end), decided_ms: bars.map(() => 0) },
  });
  const bars = fc
    .array(fc.tuple(fc.nat(1_000), fc.integer({ min: 1, max: 200 })), { minLength: 1, maxLength: 60 })
    .map((given) => given.map(([start, long]) => [start, start + long] as const).sort((a, b) => a[0] - b[0]));

  it('never overlaps bars in a lane, and has only as many lanes as trajectories ran at once', () => {
    fc.assert(
      fc.property(bars, (given) => {
        const layout = packFlow(flowOf(given), 5_000);
        for (const [a, [start, end]] of given.entries()) {
          for (const [b, [other]] of given.entries())
            if (b > a && layout.laneOf[a] === layout.laneOf[b]) expect(other >= end || other < start).toBe(true);
        }
        const most = Math.max(...given.map(([at]) => given.filter(([start, end]) => start <= at && end > at).length));
        expect(layout.lanes).toBe(most);
      }),
    );
  });

  it('finds the bar under the pointer', () => {
    fc.assert(
      fc.property(bars, fc.nat(), (given, pick) => {
        const flow = flowOf(given);
        const layout = packFlow(flow, 5_000);
        const at = pick % given.length;
        const [start] = given[at] ?? [0, 0];
        const found = barAt(flow, layout, { lane: layout.laneOf[at] ?? -1, ms: start, longestMs: longestOf(flow, 5_000) });
        const [first, end] = given[found] ?? [1, 0];
        expect(layout.laneOf[found]).toBe(layout.laneOf[at]);
        expect(first <= start && end >= start).toBe(true);
      }),
    );
  });

  it('puts each bar into the first free lane, even if thousands run at once', () => {
    const most = 5_000;
    const together = Array.from({ length: most }, (_, at) => [at, 2 * most] as const);
    const { lanes, laneOf } = packFlow(flowOf([...together, [2 * most, 2 * most + 1]]), 0);
    expect([lanes, laneOf[0], laneOf[most - 1], laneOf[most]]).toEqual([most, 0, most - 1, 0]);
  });

  it('has the time at which each bar becomes too old', () => {
    const flow = flowOf([
      [0, 50],
      [10, 60],
      [20, 30],
    ]);
    const versions = { numbers: [2, 3, 4], at_ms: [5, 25, 45] };
    const aging = { ...flow, max_staleness: 1, versions, columns: { ...flow.columns, version_first: [1, 2, 4] } };
    expect([...packFlow(aging, 0).bounds]).toEqual([25, 45, Infinity]);
    expect([...packFlow({ ...aging, max_staleness: null }, 0).bounds]).toEqual([Infinity, Infinity, Infinity]);
  });

  it('goes from bar to bar in order of start, past outcomes that are dimmed', () => {
    const flow = flowOf([
      [0, 9],
      [1, 9],
      [2, 9],
      [3, 9],
    ]);
    const mixed = { ...flow, fates: ['trained', 'lost'], columns: { ...flow.columns, fate: [0, 1, 0, 1] } };
    const next = (from: number, by: 1 | -1, fate: string): number => nextBar(mixed, from, { by, fates: new Set([fate]) });
    expect([next(-1, 1, 'lost'), next(1, 1, 'lost'), next(3, 1, 'lost')]).toEqual([1, 3, -1]);
    expect([next(4, -1, 'trained'), next(2, -1, 'trained'), next(0, -1, 'trained')]).toEqual([2, 0, -1]);
  });

  it('stacks the kept, the discarded, and all other trajectories of the whole run', () => {
    const columns = { trained: [1, 0], collected: [0, 2], discarded: [1, 0], lost: [0, 1], open: [0, 0] };
    expect(stripPaths({ at_ms: [0, 1], columns }, 30)).toEqual({
      kept: 'M0,30V20H1V30ZM1,30V10H2V30Z',
      discarded: 'M0,20V10H1V20Z',
      others: 'M1,10V0H2V10Z',
    });
  });

  it('keeps its window within the data, and zooms around the pointer', () => {
    const layout = packFlow(flowOf([[0, 100_000]]), 0);
    const closer = moveWindow({ fromMs: 0, toMs: 100_000 }, layout, { zoom: 0.5, aboutMs: 25_000 });
    expect(closer).toEqual({ fromMs: 12_500, toMs: 62_500 });
    expect(moveWindow(closer, layout, { panMs: 9e9 }).toMs).toBeLessThanOrEqual(101_000);
    expect(moveWindow(closer, layout, { panMs: -9e9 }).fromMs).toBeGreaterThanOrEqual(-1_000);
  });
});

describe('aligned attempts', () => {
  const act = fc.record({ turn: fc.constant(0), tool: fc.constantFrom('search', 'access'), arguments: fc.constantFrom('a', 'b', 'c') });

  it('contain every turn of both sides once, in order', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 12 }), fc.array(act, { maxLength: 12 }), (left, right) => {
        const pairs = alignActs(left, right);
        expect(pairs.flatMap((pair) => (pair.left < 0 ? [] : [pair.left]))).toEqual(left.map((_, at) => at));
        expect(pairs.flatMap((pair) => (pair.right < 0 ? [] : [pair.right]))).toEqual(right.map((_, at) => at));
        for (const pair of pairs) if (pair.kind === 'same') expect(left[pair.left]).toEqual(right[pair.right]);
      }),
    );
    const same = [{ turn: 0, tool: 'search', arguments: 'a' }];
    expect(alignActs(same, [{ turn: 0, tool: 'access', arguments: 'x' }, ...same])).toEqual([
      { kind: 'right', left: -1, right: 0 },
      { kind: 'same', left: 0, right: 1 },
    ]);
  });

  it('contain every word of both texts, and mark only words that differ', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a ', 'b ', 'c\n')), fc.array(fc.constantFrom('a ', 'b ', 'c\n')), (a, b) => {
        const [left, right] = diffWords(a.join(''), b.join(''));
        expect(left.map(({ text }) => text).join('')).toBe(a.join(''));
        expect(right.map(({ text }) => text).join('')).toBe(b.join(''));
        const shared = (parts: readonly { text: string; isOwn: boolean }[]) => parts.map(({ text, isOwn }) => (isOwn ? '' : text)).join('');
        expect(shared(left)).toBe(shared(right));
      }),
    );
  });
});

describe('the tail', () => {
  const event = (offset: number, more: Partial<LiveEvent> = {}): LiveEvent => ({
    ...{ id: String(offset), type: 'TurnRecorded', timestamp_ms: offset, topic: 'rollouts', partition: 0, offset },
    event: { run_id: 'run-a', trajectory_id: 'run-a-g1.0', attempt: 1, turn: 7, tool: 'search', status: 'ok', worker_id: 'w' },
    ...more,
  });

  it('shows the newest events first, each once', () => {
    const once = withEvents([event(2), event(1)], [event(2), event(3), event(4)]);
    expect(once.map(({ offset }) => offset)).toEqual([4, 3, 2, 1]);
    const many = withEvents(
      [],
      Array.from({ length: KEPT_EVENTS + 5 }, (_, at) => event(at)),
    );
    expect([many.length, many[0]?.offset]).toEqual([KEPT_EVENTS, KEPT_EVENTS + 4]);
  });

  it('leads to the turn or the step that an event is about', () => {
    expect(linkOf(event(1))).toBe('/runs/run-a/t/run-a-g1.0?attempt=1&turn=7');
    const first = { run_id: 'run-a', trajectory_id: 'run-a-g1.0', attempt: 0 };
    expect(linkOf(event(1, { event: first }))).toBe('/runs/run-a/t/run-a-g1.0?attempt=0');
    expect(linkOf(event(1, { type: 'StepCompleted', event: { run_id: 'a', step: 4 } }))).toBe('/runs/a/steps/4');
    expect(linkOf(event(1, { event: { run_id: 'a' } }))).toBe('/runs/a');
    expect(linkOf(event(1, { event: {} }))).toBeUndefined();
    expect(summaryOf(event(1))).toBe('turn 7, tool search, status ok, worker id w');
  });
});

describe('bytes, excerpts, and runs side by side', () => {
  it('are shown as hex and as text', () => {
    expect(hexOf(btoa('junk\u0000'))).toBe(`000000  6a 75 6e 6b 00                                   junk.`);
    expect(hexOf(btoa('x'.repeat(3_000)))).toContain('… 952 more bytes');
  });

  it('start shortly before the match', () => {
    expect(headOf(`${'a'.repeat(100)}NEEDLE`, 'needle')).toBe(`…${'a'.repeat(60)}NEEDLE`);
    expect(headOf('needle', 'NEEDLE')).toBe('needle');
    // lower case makes this letter longer
    expect(headOf(`${'İ'.repeat(100)}NEEDLE`, 'needle')).toBe(`…${'İ'.repeat(60)}NEEDLE`);
  });

  it('are searched literally and in any case, with positions in the original text', () => {
    const found = (text: string, sought: string) => [...text.matchAll(patternOf(sought))].map(({ index }) => index);
    expect(found('İİ needle Needle', 'NEEDLE')).toEqual([3, 10]);
    expect(found('a.b a+b (a.b)', 'a.b')).toEqual([0, 9]);
    for (const sought of ['(', '[', '\\', '/', '{2}', '^a|b$', '-']) expect(found(`x${sought}`, sought)).toEqual([1]);
  });

  it('share one x value per step', () => {
    const run = (steps: number[], values: number[]): ApiCurves => ({
      ...{ every: 1, steps, first_steps: steps, low: {}, high: {} },
      series: { reward_mean: values },
    });
    expect(alignRuns([run([1, 2], [5, 6]), run([2, 3], [7, 8])], 'reward_mean')).toEqual([
      Float64Array.of(1, 2, 3),
      [5, 6, null],
      [null, 7, 8],
    ]);
  });

  it('have a band where a point is several steps', () => {
    const wide: ApiCurves = { every: 2, steps: [2], first_steps: [1], series: { a: [5] }, low: { a: [4] }, high: { a: [9] } };
    const single: ApiCurves = { every: 1, steps: [1, 2], first_steps: [1, 2], series: { a: [7, 8] } };
    expect(alignRuns([wide, single], 'a')).toEqual([Float64Array.of(1, 2), [null, 5], [null, 4], [null, 9], [7, 8]]);
  });

  it('are reported as different if discards are distributed unlike what was kept', () => {
    expect(verdictOf({ discarded: 0 })).toBe('Nothing was dropped.');
    expect(verdictOf({ discarded: 3, reward_ks: 0.01 })).toContain('distributed like');
    expect(verdictOf({ discarded: 3, reward_ks: 0.3, turns_ks: 0.5 })).toContain('differs from what was kept in reward and turns');
  });
});
