import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiTurn } from '../data/shapes.ts';
import { besideOf, matesOf } from './group-mates.ts';
import { partsAround, rowAt, segmentsOf, spanOf, spanOfRows } from './outline.ts';
import { callsOf, rawText, turnsUrl } from './turn-columns.ts';

const lists = { tools: ['search', ''], statuses: ['ok'], error_types: [''], workers: ['w'] };
const outline = {
  ...{ attempt: 0, turns: 3, is_whole: true, ...lists },
  columns: {
    ...{ turn: [0, 1, 2], tool: [0, 0, 1], status: [0, 0, 0], error_type: [0, 0, 0], at_ms: [1_000, 2_000, 3_000] },
    ...{ generation_ms: [100, 200, 50], generation_queue_ms: [40, 0, 0], tool_at_ms: [1_100, 2_200, 3_050] },
    ...{ tool_ms: [500, 30, 0], tool_queue_ms: [0, 90, 0], version_min: [1, 1, 1], version_max: [1, 1, 1] },
  },
};

describe('the waterfall', () => {
  it('draws the time in a queue apart from the generation and the call', () => {
    expect(segmentsOf(rowAt(outline, 0))).toEqual([
      { of: 'generation', isQueued: true, fromMs: 1_000, toMs: 1_040 },
      { of: 'generation', isQueued: false, fromMs: 1_040, toMs: 1_100 },
      { of: 'tool', isQueued: false, fromMs: 1_100, toMs: 1_600 },
    ]);
  });

  it('limits a queue to the duration that it is part of, and draws no call where there was none', () => {
    expect(segmentsOf(rowAt(outline, 1)).slice(1)).toEqual([
      { of: 'tool', isQueued: true, fromMs: 2_200, toMs: 2_230 },
      { of: 'tool', isQueued: false, fromMs: 2_230, toMs: 2_230 },
    ]);
    expect(segmentsOf(rowAt(outline, 2))).toEqual([{ of: 'generation', isQueued: false, fromMs: 3_000, toMs: 3_050 }]);
  });

  it('is scaled to the rows in view', () => {
    expect(spanOfRows(outline, { from: 0, to: 1 })).toEqual({ startMs: 1_000, endMs: 1_600 });
    expect(spanOfRows(outline, { from: 1, to: 9 })).toEqual({ startMs: 2_000, endMs: 3_050 });
    expect(spanOfRows(outline, { from: 3, to: 9 })).toEqual(spanOf(outline));
  });
});

describe('the transcript', () => {
  it('has the selected turn with at least eight turns on both sides, wherever the attempt has them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.nat(), (turns, seed) => {
        const at = seed % turns;
        const parts = partsAround(at, turns);
        const [first, last] = [parts[0]?.from ?? -1, parts.at(-1)?.to ?? -1];
        expect(first).toBeLessThanOrEqual(Math.max(0, at - 8));
        expect(last).toBeGreaterThanOrEqual(Math.min(turns, at + 9));
        expect(last - first).toBeLessThanOrEqual(32);
        for (const [index, part] of parts.entries()) expect(part.from).toBe(index === 0 ? first : parts[index - 1]?.to);
      }),
    );
  });

  it('requests a part in one request, and only its texts', () => {
    const of = { run: 'a b', id: 'g.0', attempt: 1, first: 16, last: 31 };
    expect(turnsUrl(of, 'transcript')).toContain('/v1/trajectories/g.0/turns?run=a%20b&attempt=1&min_turn=16&max_turn=31&limit=16&fields=');
    expect(turnsUrl(of, 'transcript')).not.toContain('token_ids');
  });
});

const turn = {
  ...{ turn: 3, tool: 'search', tool_status: 'ok', tool_error_type: '', tool_ms: 5, tool_arguments: '{}', tool_result: 'one' },
  ...{ tool_result_chars: 3, cache_hit: true, truncated: false },
} as ApiTurn;

describe('a turn', () => {
  it('has all of its tool calls', () => {
    const more: ApiTurn = {
      ...turn,
      ...{ more_tools: ['access', 'lookup'], more_tool_statuses: ['error', 'ok'], more_tool_error_types: ['http_500', ''] },
      ...{ more_tool_ms: [7, null], more_tool_arguments: ['{"url":"x"}', '{}'], more_tool_results: ['', 'cut'] },
      more_tool_result_chars: [0, 900],
    };
    expect(callsOf(turn).map(({ tool, isCached }) => [tool, isCached])).toEqual([['search', true]]);
    expect(callsOf(more)).toHaveLength(3);
    expect(callsOf(more)[1]).toMatchObject({ tool: 'access', status: 'error', errorType: 'http_500', ms: 7, arguments: '{"url":"x"}' });
    expect(callsOf(more)[2]).toMatchObject({ tool: 'lookup', ms: null, result: 'cut', chars: 900, isCut: true });
    expect(callsOf({ ...turn, tool: '' })).toEqual([]);
  });

  it('is JSON in the raw view, with a line for each field', () => {
    const raw = { turn: 3, text: 'a\n"b"', prompt_ids: [1, 2, 3], sampling: '' };
    expect(JSON.parse(rawText(raw))).toEqual(raw);
    expect(rawText(raw).split('\n')).toHaveLength(6);
  });
});

describe('group mates', () => {
  const mate = (sample: number, attempt: number, fate: string) => ({ trajectory_id: `g.${sample}`, attempt, reward: 1, fate });
  const finished = [
    ...[mate(10, 0, 'trained'), mate(2, 0, 'discarded'), mate(2, 1, 'trained'), mate(1, 2, 'open'), mate(1, 1, 'open')],
    ...[mate(0, 0, 'lost'), mate(0, 1, 'collected')],
  ];
  const mates = matesOf(finished, 'g.3');

  it('are sorted by sample, each with the attempt that counts, and include the open one even if it has not finished', () => {
    expect(mates.map(({ trajectory_id, attempt }) => [trajectory_id, attempt])).toEqual([
      ['g.0', 1],
      ['g.1', 1],
      ['g.2', 1],
      ['g.3', 0],
      ['g.10', 0],
    ]);
  });

  it('come after the last attempt and before the first', () => {
    const beside = (attempt: number, by: 1 | -1) => besideOf({ mates, open: { trajectory_id: 'g.3', attempt }, attempts: [0, 1] }, by);
    expect([beside(0, 1), beside(1, -1)]).toEqual([
      { trajectory_id: 'g.3', attempt: 1 },
      { trajectory_id: 'g.3', attempt: 0 },
    ]);
    expect([beside(1, 1)?.trajectory_id, beside(0, -1)?.trajectory_id]).toEqual(['g.10', 'g.2']);
    expect(besideOf({ mates, open: { trajectory_id: 'g.10', attempt: 0 }, attempts: [0] }, 1)).toBeUndefined();
  });
});
