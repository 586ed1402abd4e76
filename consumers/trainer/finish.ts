// Decides when a run ends by itself (its steps are made, its batches are collected, or it is not worth continuing), and writes its last
// entry.
import { endingText, type Ended, type EndReason } from '../../streams/run/ending.ts';
import { judgeWaste, type Waste } from '../../streams/run/waste.ts';
import { releaseEntries } from './external/leases.ts';
import { collects, type TrainerEnd, type TrainerLife } from './deps.ts';
import { noteEnd } from './run-end.ts';

export interface RunEnd {
  readonly reason: EndReason;
  readonly waste?: Waste;
}

/** Undefined while the run continues. */
export function endOf(life: TrainerLife): RunEnd | undefined {
  const { state, used } = life;
  const isDone = (made: number): boolean => used.steps > 0 && made >= used.steps;
  if (collects(life) && isDone(state.counters.batches)) return { reason: 'collected' };
  if (!collects(life) && isDone(state.version)) return { reason: 'steps_reached' };
  const verdict = judgeWaste(state, used);
  return verdict.kind === 'hopeless' ? { reason: verdict.reason, waste: verdict.waste } : undefined;
}

/** Appends the last entry, and reports the end to users. */
export async function finishRun(life: TrainerLife, end: RunEnd): Promise<TrainerEnd> {
  const { counters, version } = life.state;
  const { admittedTrajectories: admitted, trainedTrajectories: trained, collectedTrajectories: collected } = counters;
  const isTrained = !collects(life);
  const totals = {
    ...{ admitted, trained, collected },
    discarded: counters.closedTrajectories - trained - collected,
    open: admitted - counters.closedTrajectories,
  };
  const steps = isTrained ? version : 0;
  const ended: Ended = { ...end, ...totals, isTrained, steps, batches: counters.batches, version };
  const detail = endingText(ended);
  const fields = { steps, version, reason: end.reason, ...totals, batches: counters.batches, detail };
  const { leases } = life.state;
  const left = releaseEntries(leases.out.map((lease) => ({ lease, reason: 'stale' })));
  await life.feed.exclusively(() => life.committer.append([...left, { type: 'RunFinished', fields }]));
  const isGood = end.reason === 'steps_reached' || end.reason === 'collected';
  life.logger[isGood ? 'info' : 'warn']({ run: life.runId, reason: end.reason, ...totals }, detail);
  const figures = { step: steps, ...(isTrained ? {} : { batches: counters.batches }), ...(isGood ? {} : { ended_early: 1 }) };
  life.report({ state: 'live', detail: isGood ? '' : detail, figures });
  await life.snapshots?.remove();
  await noteEnd(life, Math.max(steps, counters.batches));
  return { kind: 'finished', version };
}
