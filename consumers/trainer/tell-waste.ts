// Warns once each time a run starts discarding most of its trajectories.
import { hintsFor, reasonsText } from '../../streams/run/ending.ts';
import { judgeWaste } from '../../streams/run/waste.ts';
import { collects, type TrainerLife, type Loop } from './deps.ts';

export function tellWaste(life: TrainerLife, loop: Loop): void {
  const { state, used, logger, metrics, runId } = life;
  const verdict = judgeWaste(state, used);
  const waste = verdict.kind === 'wasteful' ? verdict.waste : undefined;
  const how = collects(life) ? 'this policy is not trained here: the run only collects batches' : '';
  if (waste === undefined) {
    loop.toldWaste = false;
    loop.warning = how;
    return;
  }
  metrics.set('trainer_discarded_share', {}, waste.discarded / waste.groups);
  const text = `${waste.discarded} of the last ${waste.groups} groups were discarded (${reasonsText(waste)})`;
  loop.warning = [how, text].filter((one) => one !== '').join('; ');
  if (loop.toldWaste) return;
  loop.toldWaste = true;
  logger.warn(
    { run: runId, ends_above: used.maxDiscarded },
    `this run discards most of its trajectories: ${text}. ${hintsFor(waste)}`.trimEnd(),
  );
}
