// Plans for a running trainer.
import type { Group } from '../../streams/group/group.ts';
import { collects, type Loop, type TrainerLife } from './deps.ts';
import { outGroups } from './external/leases.ts';
import type { Expiry } from '../../streams/trainer/liveness.ts';
import { planNow, type TrainingPlan } from '../../streams/trainer/plan.ts';

/** Number of steps made, or of batches collected. */
export const madeBy = (life: TrainerLife): number => (collects(life) ? life.state.counters.batches : life.state.version);

/** Groups that are being trained on. */
const inTraining = ({ state, external }: TrainerLife, loop: Loop): readonly Group[] =>
  external === undefined ? (loop.training?.batch.groups ?? []) : outGroups(state);

const stepsInTraining = ({ state, external }: TrainerLife, loop: Loop): number =>
  external === undefined ? Number(loop.training !== undefined) : state.leases.out.length;

const expiriesAt = ({ state, liveness, rewardWait }: TrainerLife, atMs: number): readonly Expiry[] => [
  ...liveness.expired(state, atMs),
  ...rewardWait.expired(state, atMs),
];

export function planFor(life: TrainerLife, loop: Loop, version: number): TrainingPlan {
  const { state, used } = life;
  const after = madeBy(life) + stepsInTraining(life, loop);
  return planNow(state, {
    settings: used,
    training: inTraining(life, loop),
    expiries: loop.lookDue && life.listening.mayJudge() ? expiriesAt(life, loop.lookedUpTo) : [],
    version,
    admitting: !loop.ending && (used.steps === 0 || after < used.steps),
    collecting: collects(life),
  });
}
