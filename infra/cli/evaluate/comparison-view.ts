// Formats the comparison of two evaluations.
import type { EvaluationComparison } from '../../../streams/evaluation/compare.ts';
import { columns, csv, percent, type EvaluationFormat } from './evaluation-view.ts';

export interface ComparedEvaluations {
  readonly a: string;
  readonly b: string;
  /** A short description of each evaluation. */
  readonly about?: readonly [string, string];
  readonly comparison: EvaluationComparison;
}

/** Text with a trailing newline. */
export function renderComparison({ a, b, about = ['', ''], comparison }: ComparedEvaluations, format: EvaluationFormat): string {
  const { figures, confidence, draws } = comparison;
  if (format === 'json') return `${JSON.stringify({ a, b, ...comparison }, null, 2)}\n`;
  if (format === 'csv') {
    const names = ['name', 'a', 'b', 'difference', 'low', 'high', 'greater'] as const;
    return csv([[...names], ...figures.map((figure) => names.map((name) => String(figure[name])))]);
  }
  const rows = figures
    .filter(({ name }) => name !== 'tokens')
    .map(({ name, low, high, greater, ...values }) => {
      const shown = (value: number): string => (/^(avg|pass)_/.test(name) ? percent(value) : value.toFixed(1));
      const signed = (value: number): string => `${value > 0 ? '+' : ''}${shown(value)}`;
      const sure = low > 0 || high < 0 ? 'differs' : '';
      return [
        name,
        shown(values.a),
        shown(values.b),
        signed(values.difference),
        `${signed(low)} .. ${signed(high)}`,
        percent(greater),
        sure,
      ];
    });
  return [
    ...[`A  ${a}${inBrackets(about[0])}\n`, `B  ${b}${inBrackets(about[1])}\n`, pairedText(comparison)],
    `${percent(confidence)} % intervals of B - A, paired bootstrap, ${draws} draws\n\n`,
    columns([['', 'A', 'B', 'B - A', 'interval', 'B > A in %', ''], ...rows]),
  ].join('');
}

const inBrackets = (text: string): string => (text === '' ? '' : `  (${text})`);

/** Describes which questions are paired and which are left out. */
function pairedText({ pairedBy, questions, onlyA, onlyB, leftOutA, leftOutB }: EvaluationComparison): string {
  const by = pairedBy === 'content' ? 'their words and gold answers' : 'their ids, because an older version recorded one of the two';
  const ids = (count: number, shown: readonly string[]): string =>
    count === 0 ? 'none' : `${count} (${shown.join(', ')}${count > shown.length ? ', ...' : ''})`;
  const left = onlyA + onlyB === 0 ? '' : `left out: only in A ${ids(onlyA, leftOutA)}; only in B ${ids(onlyB, leftOutB)}\n`;
  return `${questions} questions in both, paired by ${by}\n${left}`;
}
