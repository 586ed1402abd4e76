// Says so when a run discards most of what it pays for, once each time that it begins to.
import { reasonsText } from '../../streams/run/ending.ts';
import { judgeWaste } from '../../streams/run/waste.ts';
import type { Life, Loop } from './life.ts';

export function tellWaste({ state, used, logger, metrics, runId, learner }: Life, loop: Loop): void {
  const verdict = judgeWaste(state, used);
  const waste = verdict.kind === 'wasteful' ? verdict.waste : undefined;
  const collects = learner === undefined ? 'the trainer does not make this policy: collecting, without steps' : '';
  if (waste === undefined) {
    loop.toldWaste = false;
    loop.warning = collects;
    return;
  }
  metrics.set('trainer_discarded_share', {}, waste.discarded / waste.groups);
  const text = `${waste.discarded} of the last ${waste.groups} groups were discarded (${reasonsText(waste)})`;
  loop.warning = [collects, text].filter((one) => one !== '').join('; ');
  if (loop.toldWaste) return;
  loop.toldWaste = true;
  logger.warn({ run: runId, ends_above: used.maxDiscarded }, `most of what this run pays for is discarded: ${text}`);
}
