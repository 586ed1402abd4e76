import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adviseOn, adviseOnLag, type AdvisoryFacts, type StepFigures } from './advisories.ts';
import { columnsOfSpans } from './flow-merged.reader.ts';
import { columnsOf, flowFates, type RowColumns } from './flow.reader.ts';
import { outagesIn } from './weather.reader.ts';
import { widthFor } from './width.ts';

const step = (number: number, more: Partial<StepFigures> = {}): StepFigures => ({
  ...{ step: number, reward_mean: 0.6, entropy: 1.2, staleness_max: 1, unknown_tokens: 0, wait_ms: 100, train_ms: 300 },
  ...{ trained: 8, discarded_stale: 0, discarded_uniform: 0, ...more },
});
const steps = (more: (at: number) => Partial<StepFigures> = () => ({})): StepFigures[] =>
  Array.from({ length: 100 }, (_, at) => step(at + 1, more(at)));
const facts = (more: Partial<AdvisoryFacts> = {}): AdvisoryFacts => ({
  ...{ run: 'a', is_running: true, max_staleness: 4, steps: steps(), outages: [], beats: [] },
  ...more,
});
const rulesOf = (more: Partial<AdvisoryFacts>): readonly string[] => adviseOn(facts(more)).map(({ rule }) => rule);
const late = (at: number): boolean => at >= 80;

describe('advisories', () => {
  it('are none for a healthy run, a young run, and one that has only begun', () => {
    expect(rulesOf({})).toEqual([]);
    expect(rulesOf({ steps: [] })).toEqual([]);
    expect(rulesOf({ steps: steps((at) => ({ reward_mean: late(at) ? 0 : 0.6 })).slice(70, 90) })).toEqual([]);
  });

  it.each([
    ['reward-collapse', { steps: steps((at) => ({ reward_mean: late(at) ? 0.2 : 0.6 })) }],
    ['entropy-collapse', { steps: steps((at) => ({ entropy: late(at) ? 0.01 : 1.2 })) }],
    ['staleness-at-bound', { steps: steps((at) => ({ discarded_stale: late(at) ? 4 : 0 })) }],
    ['uniform-groups', { steps: steps((at) => ({ discarded_uniform: late(at) ? 10 : 0 })) }],
    ['unknown-versions', { steps: steps((at) => ({ unknown_tokens: late(at) ? 3 : 0 })) }],
    ['trainer-waits', { steps: steps(() => ({ wait_ms: 9_000 })) }],
    [
      'silent-worker',
      {
        beats: [
          { worker_id: 'one', at_ms: 200_000, running: 2 },
          { worker_id: 'two', at_ms: 100_000, running: 2 },
        ],
      },
    ],
    [
      'tool-outage',
      {
        outages: [{ tool: "se'arch", from: 'a', to: 'b', calls: 10, failed: 9, usual_failure_rate: 0, from_step: 1, to_step: 2 }],
      },
    ],
  ] as const)('report %s', (rule, more) => {
    const found = adviseOn(facts(more));
    expect(found.map((one) => one.rule)).toEqual([rule]);
    expect(found[0]?.page).toMatch(/^\/runs\/a\//);
    expect(found[0]?.sql).toMatch(/^SELECT .* WHERE run_id = 'a'/);
  });

  it('report a lag only while a run is running, and not for a normal backlog', () => {
    const lag = (behind: number, age_ms: number, is_running = true): readonly string[] =>
      adviseOnLag({ run: 'a', is_running, behind, age_ms }).map(({ detail }) => detail.split('. ')[0] ?? '');
    expect(lag(30_000, 0)).toEqual(['30,000 records of the log are not in the tables yet']);
    expect(lag(300, 300_000)).toEqual(['300 records of the log are not in the tables yet; the newest heartbeat in them is 300 s old']);
    expect([lag(30_000, 0, false), lag(19_999, 59_000), lag(99, 900_000)]).toEqual([[], [], []]);
  });

  it('report an outage as an alarm while it lasts, and as over afterwards', () => {
    const outage = { tool: 'a', from: 'a', to: 'b', calls: 9, failed: 9, usual_failure_rate: 0, from_step: 1, to_step: 2 };
    const said = (more: Partial<AdvisoryFacts>) => adviseOn(facts(more)).map(({ severity, title, is_over }) => [severity, title, is_over]);
    const beats = [{ worker_id: 'one', at_ms: 100_000, running: 1 }];
    const until = (ms: number) => [{ ...outage, to: new Date(ms).toISOString() }];
    expect(said({ outages: until(90_000), beats })).toEqual([['alarm', 'The tool a is out', false]]);
    expect(said({ outages: until(30_000), beats })).toEqual([['warning', 'The tool a was out', true]]);
    expect(said({ outages: until(90_000), beats, is_running: false })).toEqual([['warning', 'The tool a was out', true]]);
  });

  it('quote a name for SQL', () => {
    const [found] = adviseOn(
      facts({
        outages: [{ tool: "a'b\\", from: 'a', to: 'b', calls: 9, failed: 9, usual_failure_rate: null, from_step: -1, to_step: -1 }],
      }),
    );
    expect(found?.sql).toContain(String.raw`tool = 'a\'b\\'`);
  });

  it('give no advice for tuning beside an alarm, and start with the most severe', () => {
    const waits = steps((at) => ({ wait_ms: 9_000, reward_mean: late(at) ? 0.1 : 0.6, unknown_tokens: 1 }));
    expect(rulesOf({ steps: waits })).toEqual(['reward-collapse', 'unknown-versions']);
  });

  it('never fail, whatever figures are missing', () => {
    const maybe = fc.option(fc.double({ noNaN: true, min: -5, max: 5 }));
    const one = fc.record({ reward_mean: maybe, entropy: maybe, wait_ms: maybe, train_ms: maybe });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 150 }), (given) => {
        const found = adviseOn(facts({ steps: given.map((more, at) => step(at, more)) }));
        for (const { detail } of found) expect(detail).not.toMatch(/NaN|undefined/);
      }),
    );
  });
});

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

  it('are found in spans of a round width', () => {
    expect([widthFor(100, 240), widthFor(3_600, 240), widthFor(86_400 * 300, 10)]).toEqual([1, 30, 86_400 * 30]);
  });
});

describe('the flow', () => {
  const bar = (trajectory_id: string, end_ms = 9) => ({
    ...{ trajectory_id, attempt: 0, worker_id: 'w', start_ms: 1, end_ms, version_first: 1, version_last: 2 },
  });
  const decision = (trajectory_id: string, fate: 'trained' | 'discarded' | 'lost', reason = '') => ({
    ...{ trajectory_id, attempt: 0, fate, reason, step: 3, staleness: 1, at_ms: 20 },
  });

  const inColumns = <T extends object>(rows: readonly T[]): RowColumns<T> =>
    Object.fromEntries(
      Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name as keyof T])]),
    ) as unknown as RowColumns<T>;

  it('has the fate that the ledger gives each attempt', () => {
    const bars = [bar('a'), bar('b'), bar('c', 0), bar('d', 0), bar('e')];
    const decisions = [
      decision('b', 'discarded', 'stale'),
      decision('a', 'trained'),
      decision('a', 'lost'),
      decision('c', 'lost', 'silent'),
    ];
    const flow = columnsOf(inColumns(bars), inColumns(decisions));
    expect(flow.columns.fate.map((at) => flowFates[at])).toEqual(['trained', 'discarded', 'lost', 'running', 'open']);
    expect(flow.columns.reason.map((at) => flow.reasons[at])).toEqual(['', 'stale', 'silent', '', '']);
    expect(flow.workers).toEqual(['w']);
  });
});

describe('the merged flow', () => {
  it('counts every attempt in its spans, and those in flight', () => {
    const part = fc.record({ trained: fc.nat(5), discarded: fc.nat(5), lost: fc.nat(5), open: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), part), { maxLength: 20 }), (given) => {
        const spans = [...new Map(given).entries()].sort(([a], [b]) => a - b);
        const rows = spans.map(([at, { open, ...fates }]) => {
          const began = open + fates.trained + fates.discarded + fates.lost;
          return { span: at, ...fates, began, ended: 0, staleness_max: at % 3, oldest: at };
        });
        const columns = columnsOfSpans(rows);
        expect(columns.trained).toHaveLength((rows.at(-1)?.span ?? -1) + 1);
        expect(columns.open.reduce((sum, one) => sum + one, 0)).toBe(spans.reduce((sum, [, { open }]) => sum + open, 0));
        expect(columns.running.at(-1) ?? 0).toBe(rows.reduce((sum, { began }) => sum + began, 0));
        for (const [at, version] of columns.version_first.entries()) expect([-1, at]).toContain(version);
      }),
    );
  });
});
