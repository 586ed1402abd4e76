// Formats the output of `turnstream replay`.
import type { StepReplay } from '../../../consumers/trainer/replay.ts';
import { short, some } from '../views/shorten.ts';

function updateText({ update }: StepReplay): string {
  if (update === undefined) return '';
  const { backend, recordedBackend, largestDifference } = update;
  const where = backend === recordedBackend ? backend : `replayed on ${backend}, recorded on ${recordedBackend}`;
  const apart = largestDifference === 0 ? 'the same weights' : `weights differ by up to ${largestDifference.toExponential(2)}`;
  return `, ${apart} (${where})`;
}

/** One line per step, with its differences below. */
export function renderStep(step: StepReplay): string {
  const { groups, trajectories, tokens, staleness, compared, ok } = step;
  const counts = `${groups} groups, ${trajectories} trajectories, ${tokens} tokens`;
  const ages = `staleness mean ${staleness.mean.toFixed(2)} p95 ${staleness.p95} max ${staleness.max}`;
  const batch = `batch ${step.batchSha256.slice(0, 12)}${updateText(step)}`;
  const differences = step.differences.map(
    ({ field, trajectory, recorded, rebuilt }) =>
      `  ${trajectory === '' ? '' : `${trajectory} `}${field}: the ledger has ${short(recorded)}, the replay ${short(rebuilt)}`,
  );
  const from = step.from === 'start' ? ', rebuilt from the start of the log' : '';
  return [
    `${ok ? 'ok    ' : 'DIFFER'} step ${step.step}: ${counts}, ${ages}, ${batch}, ${compared} values compared${from}`,
    ...some(differences, 'differences'),
    '',
  ].join('\n');
}
