import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incarnationId } from '../../../streams/trajectory/worker-id.ts';
import { adviseOn, adviseOnLag, type AdvisoryFacts, type StepFigures, type WholeRun } from './advisories.ts';
import { columnsOfSpans } from './flow-merged.reader.ts';
import { columnsOf, flowFates, type RowColumns } from './flow.reader.ts';
import { trainerOf, type NewestEntry } from './trainer.reader.ts';

const step = (number: number, more: Partial<StepFigures> = {}): StepFigures => ({
  ...{ step: number, reward_mean: 0.6, entropy: 1.2, staleness_max: 1, unknown_tokens: 0, wait_ms: 100, train_ms: 300 },
  ...{ trained: 8, discarded_stale: 0, discarded_uniform: 0, ...more },
});
const steps = (more: (at: number) => Partial<StepFigures> = () => ({})): StepFigures[] =>
  Array.from({ length: 100 }, (_, at) => step(at + 1, more(at)));

/** Computes the same figures as the statement that reads them. */
function wholeOf(all: readonly StepFigures[]): WholeRun {
  const meanOf = (values: readonly (number | null)[]): number | null => {
    const known = values.filter((value): value is number => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  };
  const windows = Array.from({ length: Math.max(0, Math.floor(all.length / 20) - 1) }, (_, at) => all.slice(20 * at, 20 * at + 20));
  const scored = windows.map((window) => ({ window, reward: meanOf(window.map(({ reward_mean }) => reward_mean)) }));
  const [best] = scored.filter(({ reward }) => reward !== null).sort((a, b) => (b.reward ?? 0) - (a.reward ?? 0));
  const rangeOf = (window: readonly StepFigures[] = []) => ({ from: window[0]?.step ?? 0, to: window.at(-1)?.step ?? 0 });
  const first = all.slice(0, 20);
  const [start, earlier] = [rangeOf(first), rangeOf(best?.window)];
  return {
    ...{ steps: all.length, first_from: start.from, first_to: start.to },
    first_entropy: meanOf(first.map(({ entropy }) => entropy)),
    ...{ best_from: earlier.from, best_to: earlier.to, best_reward: best?.reward ?? null },
  };
}

const facts = (more: Partial<AdvisoryFacts> = {}): AdvisoryFacts => ({
  ...{ run: 'a', is_running: true, max_staleness: 4, steps: steps(), whole: wholeOf(more.steps ?? steps()) },
  ...{ outages: [], still_out: [], called_until_ms: -Infinity, beats: [], heard_until_ms: 0 },
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

  const outageOf = (tool: string, toMs: number) => ({
    ...{ tool, from: new Date(0).toISOString(), to: new Date(toMs).toISOString(), calls: 9, failed: 9, usual_failure_rate: 0 },
    ...{ from_step: 1, to_step: 2 },
  });

  it('report every current outage, and the newest three past ones', () => {
    const outages = [outageOf('access', 90_000), ...[1, 2, 3, 4].map((at) => outageOf('search', at * 1_000)), outageOf('visit', 95_000)];
    const found = adviseOn(facts({ outages, beats: [{ worker_id: 'one', at_ms: 100_000, running: 1 }] }));
    expect(found.map(({ title }) => title)).toEqual([
      ...['The tool visit is out', 'The tool access is out'],
      ...['The tool search was out', 'The tool search was out', 'The tool search was out'],
    ]);
    expect(found.at(-1)?.detail).toContain(new Date(2_000).toISOString());
  });

  it('report only the newest outage of a tool as current', () => {
    const found = adviseOn(facts({ outages: [outageOf('search', 80_000), outageOf('search', 90_000)], called_until_ms: 90_000 }));
    expect(found.map(({ is_over }) => is_over)).toEqual([false, true]);
  });

  it('report an outage as over in a run without heartbeats when tools were called later', () => {
    const saidAt = (called_until_ms: number) => adviseOn(facts({ outages: [outageOf('search', 10_000)], called_until_ms }))[0]?.is_over;
    expect([saidAt(10_000), saidAt(71_000)]).toEqual([false, true]);
  });

  it('report an outage of a tool that has not worked since as current for ten minutes after its end', () => {
    const outages = [outageOf('search', 10_000)];
    const saidAt = (called_until_ms: number) => adviseOn(facts({ outages, still_out: ['search'], called_until_ms }))[0]?.is_over;
    expect([saidAt(10_000), saidAt(610_000), saidAt(610_001)]).toEqual([false, false, true]);
  });

  it("do not count an evaluation's own workers in the evidence of a silent one", () => {
    const [found] = adviseOn(facts({ heard_until_ms: 200_000, beats: [{ worker_id: 'one', at_ms: 100_000, running: 2 }] }));
    expect(found?.rule).toBe('silent-worker');
    expect(found?.sql).toContain("addressee = ''");
  });

  it('limit the evidence of an outage to the calls during it', () => {
    const [found] = adviseOn(facts({ outages: [outageOf('search', 10_000)] }));
    expect(found?.sql).toContain("occurred_at >= parseDateTime64BestEffort('1970-01-01T00:00:00.000Z', 3, 'UTC')");
    expect(found?.sql).toContain("occurred_at < parseDateTime64BestEffort('1970-01-01T00:00:10.000Z', 3, 'UTC')");
  });

  it('report the only worker when it is silent, unless a newer one has replaced it', () => {
    const [older, newer] = [5, 6].map((number) => incarnationId({ place: 'worker-1', number })) as [string, string];
    const said = (heard_until_ms: number, ...ids: readonly string[]): readonly string[] => {
      const beats = ids.map((worker_id, at) => ({ worker_id, at_ms: 100_000 - at * 90_000, running: 2 }));
      return adviseOn(facts({ heard_until_ms, beats })).map(({ title, detail }) => `${title}. ${detail}`);
    };
    expect(said(150_000, older)).toEqual([]);
    expect(said(200_000, older)).toEqual([
      `The worker ${older} is silent. It has sent no heartbeat for 100 s; it was running 2 trajectories.`,
    ]);
    expect(said(150_000, newer, older)).toEqual([]);
    expect(said(150_000, older, newer)[0]).toContain(`The worker ${newer} is silent`);
    expect(said(150_000, 'other', older)[0]).toContain(`The worker ${older} is silent`);
  });

  it('compare with the best and the first steps of the whole run, and name both ranges', () => {
    const newest = steps().slice(-20);
    const whole = {
      ...{ steps: 50_100, first_from: 1, first_to: 20, first_entropy: 30 },
      ...{ best_from: 141, best_to: 160, best_reward: 1.3 },
    };
    const found = adviseOn(facts({ steps: newest, whole }));
    expect(found.map(({ rule }) => rule)).toEqual(['reward-collapse', 'entropy-collapse']);
    const [reward, entropy] = found;
    expect(reward?.detail).toBe('The mean of steps 81 to 100 is 0.6; that of steps 141 to 160 was 1.3.');
    expect(reward?.sql).toContain('(step BETWEEN 141 AND 160 OR step BETWEEN 81 AND 100)');
    expect(entropy?.detail).toMatch(/steps 81 to 100 is 1\.2, 4 % of the 30 in steps 1 to 20, the first of the run/);
    expect(entropy?.sql).toContain('(step BETWEEN 1 AND 20 OR step BETWEEN 81 AND 100)');
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

describe('the trainer', () => {
  const entry = (name: string, sequence: number, more: Partial<NewestEntry> = {}): NewestEntry => ({
    ...{ entry: name, sequence, step: 0, at: `at ${sequence}`, age_ms: 1_000, wait_ms: 4_000, train_ms: 2_000 },
    ...more,
  });
  const doing = (...entries: readonly NewestEntry[]): string => trainerOf(entries).trainer;

  it('is described by the newest entry of the ledger', () => {
    expect(trainerOf([])).toEqual({ trainer: '', ledger_entry: '', ledger_at: null });
    const found = trainerOf([entry('StepCompleted', 7), entry('TrajectoryExpired', 9), entry('RunStarted', 0)]);
    expect(found).toEqual({ trainer: 'waiting', ledger_entry: 'TrajectoryExpired', ledger_at: 'at 9' });
    expect(doing(entry('RunFinished', 3), entry('RunStarted', 0))).toBe('');
  });

  it('trains after it has waited as long as usual, for up to twice its usual training time', () => {
    const after = (age_ms: number): string => doing(entry('StepCompleted', 1, { age_ms, step: 1 }));
    expect([0, 3_999, 4_000, 7_999, 8_000].map(after)).toEqual(['waiting', 'waiting', 'training', 'training', 'waiting']);
  });

  it('trains while a batch is leased', () => {
    const step = entry('StepCompleted', 5, { step: 4 });
    expect(doing(step, entry('BatchLeased', 3, { step: 4 }))).toBe('waiting');
    expect(doing(step, entry('BatchLeased', 4, { step: 5 }))).toBe('training');
    expect(doing(step, entry('BatchLeased', 6, { step: 5 }), entry('BatchReleased', 7, { step: 5 }))).toBe('waiting');
    expect(doing(step, entry('BatchLeased', 8, { step: 5 }), entry('BatchReleased', 7, { step: 5 }))).toBe('training');
  });

  it('is silent when the ledger has had no entry for five usual steps, or for ten minutes before the first', () => {
    const after = (age_ms: number, more: Partial<NewestEntry> = {}): string => doing(entry('StepCompleted', 1, { age_ms, ...more }));
    expect([after(60_000), after(60_001)]).toEqual(['waiting', 'silent']);
    const slow = { wait_ms: 30_000, train_ms: 30_000 };
    expect([after(300_000, slow), after(300_001, slow)]).toEqual(['waiting', 'silent']);
    const first = (age_ms: number): string => doing(entry('RunStarted', 0, { age_ms, wait_ms: null, train_ms: null }));
    expect([first(600_000), first(600_001)]).toEqual(['waiting', 'silent']);
  });
});

describe('the flow', () => {
  const bar = (trajectory_id: string, end_ms = 9) => ({
    ...{ trajectory_id, attempt: 0, worker_id: 'w', start_ms: 1, end_ms, version_first: 1, version_last: 2 },
  });
  const decision = (trajectory_id: string, fate: 'trained' | 'collected' | 'discarded' | 'lost', reason = '') => ({
    ...{ trajectory_id, attempt: 0, fate, reason, step: 3, staleness: 1, at_ms: 20 },
  });

  const inColumns = <T extends object>(rows: readonly T[]): RowColumns<T> =>
    Object.fromEntries(
      Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name as keyof T])]),
    ) as unknown as RowColumns<T>;

  it('has the fate that the ledger gives each attempt', () => {
    const bars = [bar('a'), bar('b'), bar('c', 0), bar('d', 0), bar('e'), bar('f')];
    const decisions = [
      decision('b', 'discarded', 'stale'),
      decision('a', 'trained'),
      decision('a', 'lost'),
      decision('c', 'lost', 'silent'),
      decision('f', 'collected'),
      decision('f', 'lost', 'silent'),
    ];
    const flow = columnsOf(inColumns(bars), inColumns(decisions));
    expect(flow.columns.fate.map((at) => flowFates[at])).toEqual(['trained', 'discarded', 'lost', 'running', 'open', 'collected']);
    expect(flow.columns.reason.map((at) => flow.reasons[at])).toEqual(['', 'stale', 'silent', '', '', '']);
    expect(flow.workers).toEqual(['w']);
  });
});

describe('the merged flow', () => {
  it('counts every attempt in its spans, and those in flight', () => {
    const part = fc.record({ trained: fc.nat(5), collected: fc.nat(5), discarded: fc.nat(5), lost: fc.nat(5), open: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), part), { maxLength: 20 }), (given) => {
        const spans = [...new Map(given).entries()].sort(([a], [b]) => a - b);
        const rows = spans.map(([at, { open, ...fates }]) => {
          const began = open + fates.trained + fates.collected + fates.discarded + fates.lost;
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
