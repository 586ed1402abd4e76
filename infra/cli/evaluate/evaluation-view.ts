// Formats evaluations: a table for people, JSON and CSV for programs. Names match the columns of the view evaluation_results.
import {
  LONG_TURNS,
  mean,
  type ScoreFigures,
  type ScoreInterval,
  type ScoreName,
  type Percentiles,
} from '../../../streams/evaluation/figures.ts';
import { counted } from '../../../streams/run/ending.ts';

export const evaluationFormats = ['table', 'json', 'csv'] as const;
export type EvaluationFormat = (typeof evaluationFormats)[number];

export interface EvaluationLine {
  readonly evaluation_id: string;
  readonly run_id: string;
  readonly dataset: string;
  readonly split: string;
  readonly policy_version: number;
  readonly samples: number;
  readonly complete: boolean;
  /** Rows of the file that were not asked. */
  readonly left_out: number;
  readonly figures: ScoreFigures;
  /** Scores by question level, in order; empty when the questions have no levels. */
  readonly levels: readonly { readonly level: string; readonly figures: ScoreFigures }[];
}

const SCORES: readonly ScoreName[] = ['f1', 'em', 'cem', 'judge'];

type Flat = Readonly<Record<string, number>>;

/** Names and values, in column order. */
function flatOf(figures: ScoreFigures): Flat {
  const scores = (kind: 'avg' | 'pass') => SCORES.map((name) => [`${kind}_${name}`, figures[kind][name]] as const);
  const { turns, toolCalls, promptTokens, generatedTokens, tokens } = figures;
  const intervals = SCORES.flatMap((name) => [
    ...edgesOf(`avg_${name}`, figures.avgInterval[name]),
    ...edgesOf(`pass_${name}`, figures.passInterval[name]),
  ]);
  return {
    questions: figures.questions,
    answers: figures.answers,
    ...Object.fromEntries([...scores('avg'), ...scores('pass')]),
    judged: figures.judged,
    judge_invalid: figures.judgeInvalid,
    success_rate: figures.successRate,
    long_answers: figures.longAnswers,
    long_success_rate: figures.longSuccessRate,
    unanswered: figures.unanswered,
    ...{ turns_mean: turns.mean, turns_p50: turns.p50, turns_p95: turns.p95, turns_max: turns.max },
    ...spreadOf('tool_calls', toolCalls),
    ...spreadOf('prompt_tokens', promptTokens),
    ...spreadOf('generated_tokens', generatedTokens),
    ...spreadOf('tokens', tokens),
    ...Object.fromEntries(intervals),
  };
}

const edgesOf = (name: string, { low, high }: ScoreInterval) => [[`${name}_low`, low] as const, [`${name}_high`, high] as const];

const spreadOf = (name: string, { mean: average, p95, max }: Percentiles): Flat => ({
  ...{ [`${name}_mean`]: average, [`${name}_p95`]: p95, [`${name}_max`]: max },
});

const headOf = ({ figures: _, levels: __, ...head }: EvaluationLine) => head;

/** Means over evaluations, as in the average row of a benchmark table; but sums of counts, and the greatest of the maxima. */
function averageOf(all: readonly Flat[]): Flat {
  const counts = new Set(['questions', 'answers', 'judged', 'judge_invalid', 'long_answers', 'unanswered']);
  // the mean of interval bounds is not a bound of the mean
  const names = Object.keys(all[0] ?? {}).filter((name) => !/_(low|high)$/.test(name));
  const of = (name: string): readonly number[] => all.map((flat) => flat[name] ?? 0);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return Object.fromEntries(
    names.map((name) => {
      if (name.endsWith('_max')) return [name, Math.max(...of(name))];
      return [name, counts.has(name) ? sum(of(name)) : mean(of(name))];
    }),
  );
}

/** Text with a trailing newline. */
export function renderEvaluations(lines: readonly EvaluationLine[], format: EvaluationFormat): string {
  switch (format) {
    case 'json': {
      const evaluations = lines.map((line) => ({
        ...{ ...headOf(line), ...flatOf(line.figures) },
        levels: line.levels.map(({ level, figures }) => ({ level, ...flatOf(figures) })),
      }));
      return `${JSON.stringify({ evaluations, average: averageOf(lines.map(({ figures }) => flatOf(figures))) }, null, 2)}\n`;
    }
    case 'csv': {
      const rows = lines.flatMap((line) =>
        [{ level: 'all', figures: line.figures }, ...line.levels].map(({ level, figures }) => ({
          ...headOf(line),
          ...flatOf(figures),
          level,
        })),
      );
      const columns = Object.keys(rows[0] ?? {});
      return csv([columns, ...rows.map((row) => Object.values(row).map(String))]);
    }
    case 'table':
      return tableOf(lines);
  }
}

export const csv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`).join('');

export const percent = (value: number): string => (100 * value).toFixed(1);

type ScoreRow = readonly [string, (flat: Flat) => string];

function rowsOf(k: string, judged: boolean): readonly ScoreRow[] {
  const score = (label: string, name: string): ScoreRow => [label, (flat) => percent(flat[name] ?? 0)];
  const number = (label: string, name: string, digits = 1): ScoreRow => [label, (flat) => (flat[name] ?? 0).toFixed(digits)];
  const interval = (name: string): ScoreRow => ['  95 % interval', (flat) => intervalText(flat[`${name}_low`], flat[`${name}_high`])];
  const count = (label: string, name: string): ScoreRow => number(label, name, 0);
  const judge = (rows: readonly ScoreRow[]): readonly ScoreRow[] => (judged ? rows : []);
  return [
    count('questions', 'questions'),
    score(`Avg@${k} F1`, 'avg_f1'),
    interval('avg_f1'),
    score(`Avg@${k} EM`, 'avg_em'),
    score(`Avg@${k} CEM`, 'avg_cem'),
    ...judge([score(`Avg@${k} judge`, 'avg_judge'), interval('avg_judge')]),
    score(`Pass@${k} F1`, 'pass_f1'),
    score(`Pass@${k} EM`, 'pass_em'),
    ...judge([score(`Pass@${k} judge`, 'pass_judge'), count('invalid verdicts', 'judge_invalid')]),
    score('success rate', 'success_rate'),
    count(`answers of more than ${LONG_TURNS} turns`, 'long_answers'),
    score('  their success rate', 'long_success_rate'),
    count('without an answer', 'unanswered'),
    number('turns, mean', 'turns_mean'),
    count('turns, p95', 'turns_p95'),
    count('turns, most', 'turns_max'),
    number('tool calls, mean', 'tool_calls_mean'),
    count('tool calls, most', 'tool_calls_max'),
    count('prompt tokens, mean', 'prompt_tokens_mean'),
    count('prompt tokens, most', 'prompt_tokens_max'),
    count('generated tokens, mean', 'generated_tokens_mean'),
    count('generated tokens, most', 'generated_tokens_max'),
  ];
}

const intervalText = (low: number | undefined, high: number | undefined): string =>
  low === undefined || high === undefined ? '' : `${percent(low)}..${percent(high)}`;

function tableOf(lines: readonly EvaluationLine[]): string {
  const flats = lines.map(({ figures }) => flatOf(figures));
  const all = flats.length > 1 ? [...flats, averageOf(flats)] : flats;
  const ks = new Set(lines.map(({ samples }) => samples));
  const rows = rowsOf(
    ks.size === 1 ? String([...ks][0]) : 'k',
    flats.some((flat) => (flat['judged'] ?? 0) > 0),
  );
  const names = [
    ...lines.map(({ dataset, complete }) => (complete ? dataset : `${dataset} (incomplete)`)),
    ...(flats.length > 1 ? ['average'] : []),
  ];
  const ids = lines.map(
    ({ dataset, evaluation_id: id, left_out: left }) => `${dataset}: ${id}${left === 0 ? '' : `, ${counted(left, 'row')} not asked`}\n`,
  );
  const table = columns([['', ...names], ...rows.map(([label, of]) => [label, ...all.map(of)])]);
  return [table, ...lines.map(levelTable), '\n', ...ids].join('');
}

/** Empty when the questions have no levels. */
function levelTable({ dataset, samples, levels }: EvaluationLine): string {
  if (levels.length === 0) return '';
  const judged = levels.some(({ figures }) => figures.judged > 0);
  const head = [
    `${dataset} by level`,
    'questions',
    `Avg@${samples} F1`,
    '95 % interval',
    `Avg@${samples} EM`,
    ...(judged ? [`Avg@${samples} judge`] : []),
    'turns',
  ];
  const rows = levels.map(({ level, figures: { questions, avg, avgInterval, turns } }) => [
    ...[
      level === '' ? '(none)' : level,
      String(questions),
      percent(avg.f1),
      intervalText(avgInterval.f1.low, avgInterval.f1.high),
      percent(avg.em),
    ],
    ...[...(judged ? [percent(avg.judge)] : []), turns.mean.toFixed(1)],
  ]);
  return `\n${columns([head, ...rows])}`;
}

/** Left-aligns the first column and right-aligns the others. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  const pad = (cell: string, at: number): string => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0));
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('');
}

export interface TakenOverLine {
  readonly evaluationId: string;
  readonly scored: number;
  readonly total: number;
  readonly isComplete: boolean;
  /** Ms since 1970. */
  readonly begunAtMs: number;
}

/** Says which part of an evaluation was already recorded and is not asked again. */
export function takenOverText({ evaluationId, scored, total, isComplete, begunAtMs }: TakenOverLine): string {
  const at = new Date(begunAtMs).toISOString().replace('T', ' ').slice(0, 16);
  const what = isComplete ? `all ${total} answers` : `${scored} of ${total} answers`;
  const rest = isComplete ? 'nothing is asked' : 'the rest is asked';
  return `${evaluationId}: ${what} were recorded before (begun ${at} UTC), ${rest}; --again asks anew`;
}
