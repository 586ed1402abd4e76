// Formats the summary of a run for a terminal.
import type { ScoreSummary, Rollouts, RunLine, RunSummary } from './run-summary.ts';

const number = (value: number | null, digits: number): string => (value === null ? '–' : value.toFixed(digits));

const counts = (table: Readonly<Record<string, number>>): string => {
  const entries = Object.entries(table);
  return entries.length === 0 ? 'none' : entries.map(([reason, count]) => `${reason} ${count}`).join(', ');
};

function scores(name: string, evaluation: ScoreSummary | null): string {
  if (evaluation === null) return `  held-out ${name}   not evaluated`;
  const { policy_version: version, questions, samples, avg_f1: f1, avg_f1_low: low, avg_f1_high: high, avg_em: em } = evaluation;
  const how = samples > 1 ? `Avg@${samples}` : 'greedy';
  const figures = `${how} F1 ${f1.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})   EM ${em.toFixed(3)}`;
  const of = version < 0 ? 'no version named' : `policy ${version}`;
  return `  held-out ${name}   ${figures}   (${of}, ${questions} questions)`;
}

const rewards = (of: string, first: number | null, last: number | null): string =>
  `  reward, ${of}   ${number(first, 3)} over the first 20 steps, ${number(last, 3)} over the last 20`;

/** Rounded so that the parts still add up to the mean. */
function stalenessText({ mean, in_flight_mean: inFlight }: RunSummary['staleness']): string {
  if (mean === null || inFlight === null) return 'mean –';
  const [whole, part] = [mean, inFlight].map((value) => Math.round(value * 100)) as [number, number];
  const text = (hundredths: number): string => (hundredths / 100).toFixed(2);
  return `mean ${text(whole)} (in flight ${text(part)}, in queue ${text(whole - part)})`;
}

function rolloutsText([purpose, figures]: readonly [string, Rollouts]): string {
  const { attempts, counted, reward_mean: reward, turns_mean: turns, tokens_mean: tokens } = figures;
  const means = `reward ${number(reward, 3)}, ${number(turns, 1)} turns and ${number(tokens, 0)} tokens on average`;
  return `  ${purpose.padEnd(14)}  ${attempts} finished attempts, ${counted} of them count: ${means}`;
}

/** A run without a turnstream trainer has only rollouts. */
const renderRecorded = (run: RunSummary): string =>
  [
    `run ${run.run_id}: recorded, not trained here, ${run.seconds.toFixed(0)} s from its first event to its last`,
    ...Object.entries(run.rollouts).map(rolloutsText),
    ...Object.entries(run.evaluation).flatMap(([name, evaluation]) => (evaluation === null ? [] : [scores(name.padEnd(6), evaluation)])),
    '',
  ].join('\n');

/** For a run whose policy the trainer does not train. */
const renderCollected = (
  run: RunSummary,
  { batches, trajectories, tokens, reward_mean: reward }: NonNullable<RunSummary['collected']>,
): string =>
  [
    `run ${run.run_id}: ${run.state}, ${batches} batches collected in ${run.seconds.toFixed(0)} s, no step made, seed ${run.seed}, ${run.algorithm}`,
    ...told(run),
    `  collected       ${trajectories} trajectories, ${tokens} tokens, reward ${number(reward, 3)}`,
    ...Object.entries(run.rollouts).map(rolloutsText),
    scores('after ', run.evaluation.after),
    `  discarded       ${counts(run.discarded)}`,
    `  given up        ${counts(run.expired)}`,
    '',
  ].join('\n');

const told = ({ detail }: RunSummary): readonly string[] => (detail === '' ? [] : [`  ${detail}`]);

/** Lines with a trailing newline. */
export function renderSummary(run: RunSummary): string {
  if (run.state === 'recorded') return renderRecorded(run);
  if (run.collected !== null) return renderCollected(run, run.collected);
  const { staleness } = run;
  return [
    `run ${run.run_id}: ${run.state}, ${run.steps} steps in ${run.seconds.toFixed(0)} s, seed ${run.seed}, ${run.algorithm}`,
    ...told(run),
    scores('before', run.evaluation.before),
    scores('after ', run.evaluation.after),
    rewards('all finished', run.reward_all_first_20, run.reward_all_last_20),
    rewards('trained on  ', run.reward_first_20, run.reward_last_20),
    `  staleness       ${stalenessText(staleness)}, worst ${number(staleness.worst ?? staleness.max, 0)} of ${staleness.limit} allowed`,
    `  trained on      ${run.trajectories} trajectories, ${run.tokens} generated tokens`,
    `  discarded       ${counts(run.discarded)}`,
    `  given up        ${counts(run.expired)}`,
    '',
  ].join('\n');
}

/** A table of runs. */
export function renderRuns(runs: readonly RunLine[]): string {
  if (runs.length === 0) return 'no runs yet\n';
  const rows = runs.map((run) => [
    ...[run.run_id, run.state, String(run.steps), number(run.reward_last, 3), String(run.attempts)],
    ...[run.algorithm === '' ? '–' : String(run.seed), run.started_at],
  ]);
  const table = [['run', 'state', 'steps', 'reward', 'attempts', 'seed', 'started'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map(
      (row) =>
        `${row
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** One line per advisory, in the given order; empty when there are none. */
export const renderAdvisories = (
  advisories: readonly { readonly severity: string; readonly title: string; readonly detail: string }[],
): string => advisories.map(({ severity, title, detail }) => `  ${severity.padEnd(14)}  ${title}: ${detail}\n`).join('');
