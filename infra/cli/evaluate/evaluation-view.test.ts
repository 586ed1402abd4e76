import { describe, expect, it } from 'vitest';
import { figuresOf } from '../../../streams/evaluation/figures.ts';
import { renderComparison } from './comparison-view.ts';
import { renderEvaluations, takenOverText, type EvaluationLine } from './evaluation-view.ts';

const spread = { mean: 3, p50: 2, p95: 9, max: 12 };
const line = (dataset: string, f1: number, judged = 0): EvaluationLine => ({
  ...{ evaluation_id: `e-${dataset}`, run_id: 'r', dataset, split: 'test', policy_version: 3, samples: 4, complete: true },
  ...{ left_out: 0, levels: [] },
  figures: {
    ...figuresOf([]),
    ...{ questions: 10, answers: 40, judged, judgeInvalid: judged },
    avg: { f1, em: 0.5, cem: 0.5, judge: 0.25 },
    avgInterval: { ...figuresOf([]).avgInterval, f1: { low: 0.25, high: 0.75 } },
    ...{ turns: spread, toolCalls: spread, promptTokens: { ...spread, mean: 900 }, generatedTokens: spread, tokens: spread },
  },
});

describe('evaluations', () => {
  it('are shown as a table with an average, in percent', () => {
    const text = renderEvaluations([line('frames', 0.745), { ...line('gaia', 0.587), complete: false }], 'table');
    expect(text).toMatch(/^ +frames +gaia \(incomplete\) +average$/m);
    expect(text).toMatch(/^Avg@4 F1 +74\.5 +58\.7 +66\.6$/m);
    expect(text).toMatch(/^questions +10 +10 +20$/m);
    expect(text).toMatch(/^turns, most +12 +12 +12$/m);
    expect(text).toContain('frames: e-frames\n');
    expect(text).toMatch(/^ {2}95 % interval +25\.0\.\.75\.0 +25\.0\.\.75\.0$/m);
    expect(text).toMatch(/^prompt tokens, mean +900 +900 +900$/m);
    expect(text).toMatch(/^generated tokens, most +12 +12 +12$/m);
    expect(text).not.toMatch(/^tokens/m);
    expect(text).not.toContain('judge');
    expect(renderEvaluations([line('frames', 0.745, 40)], 'table')).toMatch(/^Avg@4 judge +25\.0$/m);
  });

  it('are shown by level if there are levels, with the number of rows that were not asked', () => {
    const one = line('gaia', 0.5);
    const gaia = {
      ...one,
      left_out: 28,
      levels: [
        { level: '1', figures: one.figures },
        { level: '', figures: one.figures },
      ],
    };
    const text = renderEvaluations([gaia], 'table');
    expect(text).toMatch(/^gaia by level +questions +Avg@4 F1 +95 % interval +Avg@4 EM +turns$/m);
    expect(text).toMatch(/^1 +10 +50\.0 +25\.0\.\.75\.0 +50\.0 +3\.0$/m);
    expect(text).toMatch(/^\(none\) /m);
    expect(text).toContain('gaia: e-gaia, 28 rows not asked\n');
    expect(JSON.parse(renderEvaluations([gaia], 'json'))).toMatchObject({
      evaluations: [{ left_out: 28, levels: [{ level: '1', avg_f1: 0.5 }, {}] }],
    });
    const rows = renderEvaluations([gaia], 'csv').trim().split('\n');
    expect(rows.map((row) => row.split(',').at(-1))).toEqual(['level', 'all', '1', '']);
  });

  it('are described with the number of reused answers', () => {
    const taken = { evaluationId: 'e', scored: 3, total: 8, isComplete: false, begunAtMs: Date.UTC(2026, 0, 2, 3, 4) };
    expect(takenOverText(taken)).toBe(
      'e: 3 of 8 answers were recorded before (begun 2026-01-02 03:04 UTC), the rest is asked; --again asks anew',
    );
    expect(takenOverText({ ...taken, scored: 8, isComplete: true })).toContain('all 8 answers were recorded before');
  });

  it('are written as JSON and CSV with the column names of the view evaluation_results', () => {
    const parsed = JSON.parse(renderEvaluations([line('a', 0.5), line('b', 1)], 'json')) as Record<string, unknown>;
    expect(parsed).toMatchObject({
      evaluations: [{ dataset: 'a', avg_f1: 0.5, turns_p95: 9 }, { avg_f1: 1 }],
      average: { avg_f1: 0.75, answers: 80, generated_tokens_max: 12 },
    });
    expect(parsed['average']).not.toHaveProperty('avg_f1_low');
    expect(parsed).toMatchObject({ evaluations: [{ avg_f1_low: 0.25, avg_f1_high: 0.75, prompt_tokens_mean: 900 }, {}] });
    const [head = '', first = ''] = renderEvaluations([{ ...line('a,"b"', 0.5) }], 'csv').split('\n');
    expect(head).toContain('evaluation_id,run_id,dataset,split,policy_version,samples,complete,left_out,questions,answers,avg_f1');
    expect(first).toContain('"e-a,""b""",r,"a,""b""",test,3,4,true,0,10,40,0.5,');
  });

  it('are compared with confidence intervals', () => {
    const figures = [
      { name: 'avg_f1' as const, a: 0.1, b: 0.3, difference: 0.2, low: 0.15, high: 0.25, greater: 1 },
      { name: 'turns' as const, a: 3, b: 4, difference: 1, low: -1, high: 3, greater: 0.8 },
    ];
    const paired = { pairedBy: 'content', questions: 9, onlyA: 7, onlyB: 0, leftOutA: ['q-1', 'q-2'], leftOutB: [] } as const;
    const compared = {
      a: 'x',
      b: 'y',
      about: ['gaia test', ''] as const,
      comparison: { ...paired, draws: 100, confidence: 0.95, figures },
    };
    const text = renderComparison(compared, 'table');
    expect(text).toMatch(/^avg_f1 +10\.0 +30\.0 +\+20\.0 +\+15\.0 \.\. \+25\.0 +100\.0 +differs$/m);
    expect(text).toMatch(/^turns +3\.0 +4\.0 +\+1\.0 +-1\.0 \.\. \+3\.0 +80\.0$/m);
    expect(text).toContain('A  x  (gaia test)\nB  y\n9 questions in both, paired by their words and gold answers\n');
    expect(text).toContain('left out: only in A 7 (q-1, q-2, ...); only in B none\n95.0 % intervals');
    const older = { ...compared, comparison: { ...compared.comparison, pairedBy: 'question_id' as const, onlyA: 0 } };
    expect(renderComparison(older, 'table')).toContain('paired by their ids, because an older version recorded one of the two\n95.0 %');
    expect(JSON.parse(renderComparison(compared, 'json'))).toMatchObject({ a: 'x', figures: [{ low: 0.15 }, {}] });
    expect(renderComparison(compared, 'csv')).toBe(
      'name,a,b,difference,low,high,greater\navg_f1,0.1,0.3,0.2,0.15,0.25,1\nturns,3,4,1,-1,3,0.8\n',
    );
  });
});
