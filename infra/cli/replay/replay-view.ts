// How a replay and a comparison of two ledgers look.
import type { StepReplay } from '../../../consumers/trainer/replay.ts';
import type { RunsDiff } from '../ledger/ledger-diff.ts';

const SHOWN = 10;
const WIDTH = 76;

const short = (text: string): string => (text.length <= WIDTH ? text : `${text.slice(0, WIDTH - 1)}…`);

/** The first lines of many, and how many more there are. */
const some = (lines: readonly string[], more: string): readonly string[] =>
  lines.length <= SHOWN ? lines : [...lines.slice(0, SHOWN), `  … and ${lines.length - SHOWN} ${more}`];

function updateText({ update }: StepReplay): string {
  if (update === undefined) return '';
  const where = update.backend === update.recordedBackend ? update.backend : `${update.backend}, made on ${update.recordedBackend}`;
  const apart = update.largestDifference === 0 ? 'the same weights' : `weights up to ${update.largestDifference.toExponential(2)} apart`;
  return `, ${apart} (${where})`;
}

/** One line a step, and what differs below it. */
export function renderStep(step: StepReplay): string {
  const { groups, trajectories, tokens, staleness, compared, ok } = step;
  const counts = `${groups} groups, ${trajectories} trajectories, ${tokens} tokens`;
  const ages = `staleness mean ${staleness.mean.toFixed(2)} p95 ${staleness.p95} max ${staleness.max}`;
  const batch = `batch ${step.batchSha256.slice(0, 12)}${updateText(step)}`;
  const differences = step.differences.map(
    ({ field, trajectory, recorded, rebuilt }) =>
      `  ${trajectory === '' ? '' : `${trajectory} `}${field}: the ledger has ${short(recorded)}, the replay ${short(rebuilt)}`,
  );
  const from = step.from === 'start' ? ', read from the first record' : '';
  return [
    `${ok ? 'ok    ' : 'DIFFER'} step ${step.step}: ${counts}, ${ages}, ${batch}, ${compared} values compared${from}`,
    ...some(differences, 'differences'),
    '',
  ].join('\n');
}

type Count = RunsDiff['diff']['questions'];

function countText({ compared, differing, onlyA, onlyB }: Count, { a, b }: RunsDiff): string {
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
  if (same) return 'SAME: they were asked, trained on, discarded and made the same';
  return trainedSame ? 'DIFFER, but not in what they trained on' : 'DIFFER in what they trained on';
}
