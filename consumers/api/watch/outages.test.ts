import { describe, expect, it } from 'vitest';
import { outagesIn } from './outages.ts';
import { widthFor } from './width.ts';

const span = (minute: number, calls: number, failed: number) => ({
  ...{ tool: 'search', calls, failed, ms_p50: 1, ms_p95: 2 },
  at: new Date(minute * 60_000).toISOString(),
});

describe('outages', () => {
  it('are the spans in which a tool fails far more than usual', () => {
    const calm = Array.from({ length: 10 }, (_, at) => span(at, 100, 2));
    expect(outagesIn(calm, 60)).toEqual([]);
    const out = [...calm.slice(0, 4), span(4, 100, 80), span(5, 100, 90), ...calm.slice(6)];
    expect(outagesIn(out, 60)).toEqual([
      {
        ...{ tool: 'search', calls: 200, failed: 170, usual_failure_rate: 0.02 },
        ...{ from: new Date(240_000).toISOString(), to: new Date(360_000).toISOString() },
      },
    ]);
  });

  it('are two when the tool worked, or was not called, between them; one failed call is no outage', () => {
    const spans = [
      span(0, 9, 9),
      span(1, 9, 0),
      span(2, 9, 9),
      span(30, 9, 9),
      span(31, 9, 0),
      span(32, 9, 0),
      span(33, 9, 0),
      span(34, 9, 0),
      span(60, 1, 1),
    ];
    expect(outagesIn(spans, 60).map(({ calls }) => calls)).toEqual([9, 9, 9]);
    expect(outagesIn([], 60)).toEqual([]);
  });

  it('are found when a tool fails from the start, and last as long as it is out', () => {
    const out = Array.from({ length: 40 }, (_, at) => span(at, 10, 9));
    expect(outagesIn(out, 60).map(({ calls }) => calls)).toEqual([400]);
    const later = Array.from({ length: 40 }, (_, at) => span(at, 10, at < 4 ? 0 : 8));
    expect(outagesIn(later, 60).map(({ calls, to }) => [calls, to])).toEqual([[360, new Date(40 * 60_000).toISOString()]]);
  });

  it('are none when a third of the calls of a tool always fails', () => {
    const spans = Array.from({ length: 40 }, (_, at) => span(at, 30, 10));
    expect(outagesIn(spans, 60)).toEqual([]);
  });

  it('are found when a tool is called rarely and always fails', () => {
    const minutes = Array.from({ length: 30 }, (_, at) => span(at * 2, 1, 1));
    expect(outagesIn(minutes, 60).map(({ calls, isOpen }) => [calls, isOpen])).toEqual([[30, true]]);
  });

  it('are found in a quarter of an hour of a run of a week, and end there', () => {
    const week = Array.from({ length: 7 * 1_440 }, (_, at) => span(at, 4, at >= 5_000 && at < 5_015 ? 4 : 0));
    const [from, to] = [5_000, 5_015].map((minute) => new Date(minute * 60_000).toISOString());
    expect(outagesIn(week, 60)).toEqual([{ tool: 'search', from, to, calls: 60, failed: 60, usual_failure_rate: 0 }]);
  });

  it('go on after a single call that worked, and after a shorter time than ten minutes without calls', () => {
    const spans = [0, 1, 2, 3, 4, 5].map((at) => span(at * 9, 3, at === 3 ? 2 : 3));
    expect(outagesIn([...spans, span(47, 1, 0), span(48, 5, 5)], 60).map(({ calls, failed }) => [calls, failed])).toEqual([[24, 22]]);
    expect(outagesIn([...spans, span(47, 4, 0), span(48, 9, 9)], 60).map(({ calls }) => calls)).toEqual([18, 9]);
  });

  it('are none when a tenth of the calls fails now and then, and there are few calls', () => {
    // two calls a minute; those that fail are up to three minutes in a row
    const spans = Array.from({ length: 600 }, (_, at) => span(at, 2, at % 15 < 3 ? 1 : 0));
    expect(outagesIn(spans, 60)).toEqual([]);
  });

  it('are found in spans of a round width', () => {
    expect([widthFor(100, 240), widthFor(3_600, 240), widthFor(86_400 * 300, 10)]).toEqual([1, 30, 86_400 * 30]);
  });
});
