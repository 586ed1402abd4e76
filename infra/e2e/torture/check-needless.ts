// Detects unnecessary work. An attempt may be given up when its worker has died, or was disturbed for longer than the silence limit. If the
// worker was still running the attempt, it was given up in vain, and its successor repeats the work. The check uses what the log shows of
// the attempt and when its records were appended, not what the trainer claims.
import { gather, type Case } from './case.ts';
import { eventsOf, type FactOf } from './facts.ts';
import { problemsOf, type TortureProblem } from './problem.ts';
import { isWhole } from './refold.ts';
import type { TimeInterval, AppendTimeline } from './timeline.ts';

/** Observations from outside during the run. */
export interface Witness {
  readonly timeline: AppendTimeline;
  readonly strikes: readonly StrikeSpan[];
  /** Limits of the run. */
  readonly silenceMs: number;
  readonly heartbeatMs: number;
}

/** A fault; times in ms after the start of the torture test. */
export interface StrikeSpan extends TimeInterval {
  readonly kind: string;
  readonly target: string;
}

/** Counts of unnecessary work, by cause. */
export interface Needless {
  /** Attempts that were given up, by cause. */
  readonly expiries: Readonly<Record<ExpiryCause, number>>;
  /** Attempts that two workers started. */
  readonly attemptsRunTwice: number;
  /** Rollout records that were appended more than once. */
  readonly recordsRepeated: number;
  /** Complete attempts of which another one counted. */
  readonly attemptsSuperseded: number;
  /** Turns of attempts that did not count. */
  readonly turnsUnused: number;
}

/**
 * died: its worker was hit, and the attempt never continued. broken: it ended in a way that cannot count. struck: a fault silenced its
 * worker, or removed what it needs. outage: the log was unreachable.
 */
export const expiryCauses = ['died', 'broken', 'struck', 'outage', 'overdue', 'needless'] as const;
type ExpiryCause = (typeof expiryCauses)[number];

export function countNeedless(of: Case, witness: Witness | undefined): Needless {
  const attempts = [...of.histories.values()].flatMap(({ attempts: own, winner }) =>
    [...own.values()].map((attempt) => ({ attempt, counts: attempt === winner })),
  );
  const expiries = { died: 0, broken: 0, struck: 0, outage: 0, overdue: 0, needless: 0 };
  if (witness !== undefined) for (const { cause } of judgeExpiries(of, witness)) expiries[cause] += 1;
  const unused = attempts.filter(({ attempt, counts }) => !counts && attempt.end !== undefined);
  const distinct = attempts.reduce((sum, { attempt }) => sum + attempt.records.size, 0);
  const gone = of.facts.gone.reduce((sum, { rollouts }) => sum + rollouts.length, 0);
  return {
    expiries,
    attemptsRunTwice: attempts.filter(({ attempt }) => attempt.workers.size > 1).length,
    recordsRepeated: of.facts.rollouts.length + gone - distinct,
    attemptsSuperseded: of.discards.filter(({ event }) => event.reason === 'superseded').length,
    turnsUnused: unused.reduce((sum, { attempt }) => sum + (attempt.end?.turns ?? 0), 0),
  };
}

/** Reports running attempts that were given up. An unreachable log is no reason: the trainer could not read it either. */
export function checkNeedless(of: Case, witness: Witness): readonly TortureProblem[] {
  const needless = judgeExpiries(of, witness).filter(({ cause }) => cause === 'needless' || cause === 'outage');
  return problemsOf(
    'needless',
    needless.map(({ name, reason, silentMs, atMs }) => {
      const silence = Number.isFinite(silentMs) ? `its last sign was ${Math.round(silentMs)} ms old` : 'it had not begun';
      return `attempt ${name} was given up as ${reason} at ${Math.round(atMs)} ms: ${silence}, and its worker was not struck`;
    }),
  );
}

interface JudgedExpiry {
  readonly name: string;
  readonly reason: string;
  readonly cause: ExpiryCause;
  /** Upper bound for the age of its last sign of life; Infinity when there was none. */
  readonly silentMs: number;
  readonly atMs: number;
}

type ExpiryFact = FactOf<'TrajectoryExpired'>;

function judgeExpiries(of: Case, witness: Witness): readonly JudgedExpiry[] {
  const signs = signsOf(of, witness.timeline);
  return eventsOf(of.facts.training, 'TrajectoryExpired').map((expired) => {
    const { event, partition, offset } = expired;
    const name = `${event.trajectory_id}/${event.attempt}`;
    const given = witness.timeline.appended({ topic: 'training', partition, offset });
    const own = signs.get(name) ?? [];
    const before = own.filter(({ toMs }) => toMs <= given.toMs);
    const last = Math.max(-Infinity, ...before.map(({ fromMs }) => fromMs));
    const found = { given, silentMs: given.toMs - last, lived: own.some(({ fromMs }) => fromMs >= given.toMs) };
    return { name, reason: event.reason, silentMs: found.silentMs, atMs: given.toMs, cause: causeOf(of, expired, { ...found, witness }) };
  });
}

/** When each attempt showed a sign of life: its own records, and the heartbeats that list it. */
function signsOf(of: Case, timeline: AppendTimeline): ReadonlyMap<string, readonly TimeInterval[]> {
  const { rollouts, heartbeats } = of.facts;
  return gather([
    ...rollouts.map((fact) => [`${fact.trajectory}/${fact.attempt}`, timeline.appended({ topic: 'rollouts', ...fact })] as const),
    ...heartbeats.flatMap(({ running, partition, offset }) => {
      const at = timeline.appended({ topic: 'rollouts', partition, offset });
      return running.map((name) => [name, at] as const);
    }),
  ]);
}

interface CheckedExpiry {
  readonly given: TimeInterval;
  readonly silentMs: number;
  /** It showed a sign of life after it was given up. */
  readonly lived: boolean;
  readonly witness: Witness;
}

function causeOf(of: Case, { event }: ExpiryFact, found: CheckedExpiry): ExpiryCause {
  const attempt = of.histories.get(event.trajectory_id)?.attempts.get(event.attempt);
  if (attempt?.end !== undefined && !isWhole(attempt)) return 'broken';
  if (wasTaken(of, event, found)) return 'struck';
  if (hasDied(found)) return 'died';
  return event.reason === 'wall_clock' && ranTooLong(of, event, found) ? 'overdue' : causeOfSilence(found);
}

/** A fault removed its records, its request, or the response to its worker's claim, which the worker therefore does not know. */
function wasTaken(
  { facts, touched }: Case,
  { group_id: group, trajectory_id: id, attempt, reason }: ExpiryFact['event'],
  found: CheckedExpiry,
): boolean {
  if (touched.has(group)) return true;
  if (reason === 'lost_claim') return wasStruck(found, ['broker']) || wasNoticedLate(found);
  if (reason !== 'lost_request' && reason !== 'question_gone') return false;
  return !facts.tasks.some(
    ({ read: { type, event } }) => type === 'TrajectoryRequested' && event.trajectory_id === id && event.attempt === attempt,
  );
}

function causeOfSilence(found: CheckedExpiry): ExpiryCause {
  if (wasStruck(found, ['worker'])) return 'struck';
  const { silenceMs } = found.witness;
  return found.silentMs > silenceMs && wasStruck(found, ['broker']) ? 'outage' : 'needless';
}

function hasDied(found: CheckedExpiry): boolean {
  return !found.lived && (wasKilled(found) || wasStruck(found, ['worker']));
}

/** A worker was killed after its last sign of life, however late that was noticed: the trainer may have been delayed meanwhile. */
function wasKilled({ given, silentMs, witness }: CheckedExpiry): boolean {
  const lastMs = given.toMs - silentMs;
  return (
    Number.isFinite(lastMs) &&
    witness.strikes.some(
      ({ kind, target, fromMs }) => target === 'worker' && ['kill', 'forget'].includes(kind) && fromMs >= lastMs && fromMs <= given.toMs,
    )
  );
}

function ranTooLong({ facts, histories }: Case, event: ExpiryFact['event'], { given, witness }: CheckedExpiry): boolean {
  const request = facts.tasks.find(
    ({ read }) =>
      read.type === 'TrajectoryRequested' && read.event.trajectory_id === event.trajectory_id && read.event.attempt === event.attempt,
  );
  const first = histories.get(event.trajectory_id)?.attempts.get(event.attempt)?.records.get(0);
  if (request?.read.type !== 'TrajectoryRequested' || first === undefined) return false;
  const begun = witness.timeline.appended({ topic: 'rollouts', ...first });
  return given.toMs - begun.fromMs > request.read.event.max_wall_ms;
}

/** How long after a fault a decision made during the fault may still be written. */
const LATE_MS = 10_000;

/** A broker or the worker was killed, and before the lost claim could be noticed, a fault of the trainer gave it a new deadline. */
function wasNoticedLate({ given, witness }: CheckedExpiry): boolean {
  const wait = witness.silenceMs + LATE_MS;
  const ofTrainer = witness.strikes.filter(({ kind, target }) => target === 'trainer' && kind !== 'clock');
  return witness.strikes
    .filter(({ kind, target, fromMs }) => kind === 'kill' && ['broker', 'worker'].includes(target) && fromMs <= given.toMs)
    .some((kill) => {
      const restarts = ofTrainer.filter(({ fromMs }) => fromMs >= kill.fromMs && fromMs <= kill.toMs + wait);
      return restarts.some(({ toMs }) => toMs + wait >= given.fromMs);
    });
}

/** A recent fault that was long enough to silence the worker. A clock jump silences nobody. */
function wasStruck({ given, witness }: CheckedExpiry, targets: readonly string[]): boolean {
  const enough = witness.silenceMs - 2 * witness.heartbeatMs;
  return witness.strikes.some(
    ({ kind, target, fromMs, toMs }) =>
      targets.includes(target) &&
      kind !== 'clock' &&
      (['kill', 'forget', 'tail'].includes(kind) || toMs - fromMs >= enough) &&
      fromMs <= given.toMs &&
      toMs + witness.silenceMs + LATE_MS >= given.fromMs,
  );
}
