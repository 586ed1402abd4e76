// Named points at which a test can end a process, so that crashes are tested at each of them and not only at random moments. In production,
// reaching a point does nothing.
//
// A step is an effect that other processes can see or that a restart depends on; it has a point before it and one after it. Effects happen
// only inside inStep: the tests of each procedure fail when one happens outside, and infra/e2e/crash-points.int.test.ts fails when a point
// of this table is not tested.

export const crashSteps = {
  'trainer.commit.begin': 'beginning the transaction of a commit',
  'trainer.commit.produce': 'sending the records of a transaction',
  'trainer.commit.offsets': 'adding the input offsets to a transaction',
  'trainer.commit.end': 'EndTxn, which makes a transaction visible',
  'trainer.fold-back': 'folding what was committed into the state',
  'coordinator.claim': 'recording that an external trainer claims the run',
  'coordinator.rewind': 'recording that an external trainer claims the run and goes back to an older version',
  'coordinator.lease': 'recording the lease of a batch',
  'coordinator.release': 'recording that a lease has ended',
  'coordinator.commit': 'committing the step of an external trainer',
  'coordinator.publish': 'recording and publishing weights after their step',
  'learner.update': 'one update of the policy',
  'worker.claim': 'claiming tasks by a commit of their offsets',
  'worker.start': 'writing TrajectoryStarted',
  'worker.finish': 'writing TrajectoryFinished',
  'sink.intent': 'announcing the ranges to be inserted in the metadata of an offset commit',
  'sink.letters': 'sending the dead letters of the ranges',
  'sink.insert': 'inserting the rows of the ranges, table by table',
  'sink.commit': 'committing the offsets behind the ranges',
} as const;

const crashMoments = {
  'trainer.step.trained': 'the update is done and not committed',
  'learner.update.mid': 'some passes of an update are done, others are not',
  'worker.trajectory.mid': 'a turn is written and the trajectory goes on',
  'sink.insert.mid': 'some tables have their rows, others do not',
} as const;

export type CrashStep = keyof typeof crashSteps;
type CrashMoment = keyof typeof crashMoments;
export type CrashPoint = `${CrashStep}.before` | `${CrashStep}.after` | CrashMoment;

/** Every point. */
export const crashPoints: readonly CrashPoint[] = [
  ...(Object.keys(crashSteps) as CrashStep[]).flatMap((step) => [`${step}.before` as const, `${step}.after` as const]),
  ...(Object.keys(crashMoments) as CrashMoment[]),
];

/** Called when a point is reached. */
export type ReachPoint = (point: CrashPoint) => void;

/** For production: does nothing. */
export const reachNothing: ReachPoint = () => undefined;

/** Does the work of a step between its two points. The work begins at once; a step that fails does not reach the second. */
export async function inStep<T>(reach: ReachPoint, step: CrashStep, work: () => Promise<T>): Promise<T> {
  reach(`${step}.before`);
  const result = await work();
  reach(`${step}.after`);
  return result;
}
