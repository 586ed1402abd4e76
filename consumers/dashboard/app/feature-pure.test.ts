import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundOf } from './charts/flow-layout.ts';
import { curlOf } from './data/shown.ts';
import type { ApiFlow } from './data/watch-shapes.ts';
import { alignActs, cutAt } from './pages/align.ts';
import { complete, completionsFor } from './pages/sql-complete.ts';
import { chartOf, linesOf } from './pages/sql-result.ts';
import { keyName } from './shell/key-sequences.ts';
import { attemptName, attemptOf } from './shell/attempt-names.ts';
import { parentOf } from './shell/patterns.ts';

const levelUp = (path: string): string | undefined => parentOf(new URL(path, 'http://a'));

describe('one level up', () => {
  it.each([
    ['/', undefined],
    ['/runs/a', '/'],
    ['/runs/a/curves', '/runs/a'],
    ['/runs/a/steps/3', '/runs/a/steps'],
    ['/runs/a/tools/search', '/runs/a/tools'],
    ['/runs/a/groups/g', '/runs/a'],
    ['/runs/a/t/a-g1.0', '/runs/a/trajectories'],
    ['/runs/a/t/a-g1.0?of=sort%3Dreward', '/runs/a/trajectories?sort=reward'],
    ['/evaluations/e', '/evaluations'],
    ['/sql?q=1', '/'],
  ])('of %s is %s', (path, parent) => {
    expect(levelUp(path)).toBe(parent);
  });
});

it('names of attempts parse back to the attempts', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), (trajectory_id, attempt) => {
      expect(attemptOf(attemptName({ trajectory_id, attempt }))).toEqual({ trajectory_id, attempt });
    }),
  );
});

it('the name of a key includes shift for enter, but not for letters', () => {
  const name = (key: string, shift: boolean): string => keyName({ key, command: false, shift });
  expect([name('Enter', true), name('Enter', false), name('G', true)]).toEqual(['Shift Enter', 'Enter', 'G']);
});

it('a command is quoted for a shell', () => {
  expect(curlOf('http://a', ["/v1/runs?q=it's", '/b'])).toBe(`curl -s 'http://a/v1/runs?q=it'\\''s'\ncurl -s 'http://a/b'`);
});

describe('a block of two aligned attempts', () => {
  const act = (tool: string) => ({ turn: 0, tool, arguments: tool });
  it('ends after an equal pair or with the last one, and contains every turn', () => {
    const tools = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(tools, tools, (left, right) => {
        const pairs = alignActs(left.map(act), right.map(act));
        const cut = cutAt(pairs);
        expect(cut).toBeGreaterThan(0);
        expect(cut === pairs.length || pairs[cut - 1]?.kind === 'same').toBe(true);
        expect(pairs.filter((pair) => pair.left >= 0)).toHaveLength(left.length);
      }),
    );
  });
});

describe('the staleness limit of a trajectory', () => {
  const flow = {
    max_staleness: 2,
    columns: { version_first: [1, 4, -1] },
    versions: { numbers: [1, 2, 3, 4, 5], at_ms: [10, 20, 30, 40, 50] },
  } as unknown as ApiFlow;
  it('is the time at which the first version that is too new was published', () => {
    expect([boundOf(flow, 0), boundOf(flow, 1), boundOf(flow, 2), boundOf(flow, -1)]).toEqual([40, undefined, undefined, undefined]);
  });
});

describe('completion of a statement', () => {
  const column = (name: string) => ({ name, type: 'Int32', comment: '' });
  const tables = [
    { table: 'steps', columns: [column('step'), column('reward_mean')] },
    { table: 'turns', columns: [column('turn'), column('tool')] },
  ];
  const at = (text: string): readonly string[] => completionsFor(text, text.length, tables).found.map(({ text: found }) => found);

  it('offers tables after FROM, and the columns of the tables in the statement', () => {
    expect(at('SELECT 1 FROM st')).toEqual(['steps']);
    expect(at('SELECT 1 FROM steps WHERE re')[0]).toBe('reward_mean');
    expect(at('SELECT turns.to')).toEqual(['tool']);
    expect(at("SELECT 'st")).toEqual([]);
    expect(at('SELECT step')).not.toContain('step');
  });

  it('replaces the word at the cursor with the chosen name', () => {
    const text = 'SELECT rew FROM steps';
    const { from } = completionsFor(text, 10, tables);
    expect(complete(text, 10, { from, chosen: 'reward_mean' })).toEqual({ text: 'SELECT reward_mean FROM steps', caret: 18 });
  });
});

describe('a chart of a result', () => {
  const meta = [
    { name: 'at', type: "DateTime64(3, 'UTC')" },
    { name: 'reward', type: 'Nullable(Float64)' },
    { name: 'run', type: 'String' },
  ];
  it('uses a time as its axis and numbers as lines', () => {
    expect(linesOf({ meta }, { x: undefined, y: undefined })).toMatchObject({ axis: 'at', lines: ['reward'], shown: ['reward'] });
    expect(linesOf({ meta: [{ name: 'run', type: 'String' }] }, { x: undefined, y: undefined }).lines).toEqual([]);
  });

  it('is sorted, and leaves out values that are not numbers', () => {
    const data = [
      { at: '2026-01-01 00:00:02', reward: 3 },
      { at: '2026-01-01 00:00:00', reward: 1 },
      { at: '2026-01-01 00:00:01', reward: null },
    ];
    const { lines, low, high } = chartOf({ data }, 'at', ['reward']);
    expect([lines[0]?.points, low, high]).toEqual([
      [
        [0, 0],
        [1, 1],
      ],
      1,
      3,
    ]);
  });
});
