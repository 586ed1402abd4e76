// Formats the output of `turnstream ledger diff`.
import { short, some } from '../views/shorten.ts';
import type { RunsDiff } from './ledger-diff.ts';
import type { DiffCount } from '../../../streams/ledger/diff.ts';

function countText({ compared, differing, onlyA, onlyB }: DiffCount, { a, b }: RunsDiff): string {
  const only = [
    [onlyA, a],
    [onlyB, b],
  ] as const;
  const rest = only.filter(([count]) => count > 0).map(([count, run]) => `, ${count} only in ${run}`);
  return `${compared} in both, ${differing === 0 ? 'all equal' : `${differing} differ`}${rest.join('')}`;
}

/** What was compared, the first divergence with its context, and the verdict. */
export function renderDiff(result: RunsDiff): string {
  const { a, b, diff, stepDifferences } = result;
  const fields = Object.entries(diff.steps.byField).map(([field, steps]) => `${field} in ${steps}`);
  const lines = [
    `${a} and ${b}`,
    `  settings    ${diff.settings.length === 0 ? 'equal' : diff.settings.map(({ name, a: one, b: other }) => `${name} ${short(one)} and ${short(other)}`).join(', ')}`,
    `  questions   ${countText(diff.questions, result)}`,
    `  steps       ${countText(diff.steps, result)}${fields.length === 0 ? '' : ` (${fields.join(', ')})`}`,
    `  discards    ${countText(diff.discards, result)}`,
  ];
  if (diff.first !== undefined) lines.push(`first divergence: ${firstText(result)}`);
  if (diff.firstStep !== undefined) {
    lines.push(`step ${diff.firstStep.a.step}, the first that differs:`);
    const values = stepDifferences.map(
      ({ trajectory, name, a: one, b: other }) =>
        `  ${trajectory === '' ? '' : `${trajectory} `}${name}: ${short(one)} and ${short(other)}`,
    );
    lines.push(...(values.length === 0 ? ['  the same trajectories in another order'] : some(values, 'values')));
  }
  lines.push(verdict(result), '');
  return lines.join('\n');
}

function firstText({ diff: { first } }: RunsDiff): string {
  if (first === undefined) return '';
  if (first.kind === 'step') return `step ${first.at}, ${first.what}${first.what === 'steps' ? `: ${first.a} and ${first.b}` : ''}`;
  const when = first.at < 0 ? 'before the first step' : `at version ${first.at}`;
  return `${first.kind}, ${when}, ${first.what}: ${short(first.a)} and ${short(first.b)}`;
}

function verdict({ diff: { same, trainedSame } }: RunsDiff): string {
  if (same) return 'SAME: settings, questions, batches, discards, and weights are equal';
  return trainedSame ? 'DIFFER, but not in what they trained on' : 'DIFFER in what they trained on';
}
