// Checks that every discard agrees with the records: the attempt, its account, and the reason.
import { isOfAttempt, type Case, type DiscardFact, type GroupCase } from './case.ts';
import { compare, expectedRow } from './check-steps.ts';
import type { LogFact } from './facts.ts';
import { abandonedBy } from './made-versions.ts';
import { problemsOf, type TortureProblem } from './problem.ts';
import { accountOf, isWhole, turnsOf, type AttemptHistory, type TrajectoryHistory } from './refold.ts';

export function checkDiscards(of: Case): readonly TortureProblem[] {
  return problemsOf('discard', [
    ...of.discards.flatMap((discard) => {
      const where = `${discard.event.reason} discard of ${discard.event.trajectory_id}/${discard.event.attempt}`;
      return checkDiscard(of, discard).map((what) => `${where}: ${what}`);
    }),
    ...[...of.groups.values()].flatMap((group) => checkReasons(of, group)),
  ]);
}

function checkDiscard(of: Case, { event }: DiscardFact): readonly string[] {
  if (event.reason === 'expired') return checkExpired(of, event);
  if (event.reason === 'lost') return [...checkExpired(of, event), ...checkLost(of, event)];
  const history = of.histories.get(event.trajectory_id);
  const attempt = history?.attempts.get(event.attempt);
  if (attempt === undefined || history === undefined) return ['no record of it exists'];
  // a trainer that lost records may rightly discard an attempt of which the oracle knows all records
  if (isOfAttempt(event.reason) && of.touched.has(event.group_id)) return [];
  return [...compare({ ...event }, expectedRow(attempt, event.version)), ...checkReason(event, attempt, history)];
}

function checkReason(event: DiscardFact['event'], attempt: AttemptHistory, history: TrajectoryHistory): readonly string[] {
  if (isOfAttempt(event.reason)) return checkAttemptDiscard(event, attempt, history);
  if (!['uniform_group', 'stale', 'incomplete', 'rewound', 'unknown_version'].includes(event.reason)) return ['there is no such reason'];
  return history.winner?.number === event.attempt ? [] : ['it is not the attempt that counts'];
}

/** Checks that an earlier entry gave its last attempt up, without a next attempt. */
function checkExpired({ facts }: Case, event: DiscardFact['event']): readonly string[] {
  const given = facts.training.some(
    ({ read }) =>
      read.type === 'TrajectoryExpired' &&
      read.event.trajectory_id === event.trajectory_id &&
      read.event.next_attempt < 0 &&
      read.event.sequence < event.sequence,
  );
  return given ? [] : ['its last attempt was not given up'];
}

/** Checks that the log has lost one of its requests, so that no attempt can continue it. */
function checkLost({ facts }: Case, event: DiscardFact['event']): readonly string[] {
  const gone = facts.gone.flatMap(({ tasks }) => tasks);
  const isOf = ({ read }: LogFact): boolean => read.type === 'TrajectoryRequested' && read.event.trajectory_id === event.trajectory_id;
  return gone.some(isOf) ? [] : ['its requests are in the log'];
}

function checkAttemptDiscard({ reason }: DiscardFact['event'], attempt: AttemptHistory, { winner }: TrajectoryHistory): readonly string[] {
  if (attempt.end === undefined) return ['it never ended'];
  if (winner?.number === attempt.number) return ['it is the attempt that counts'];
  return (reason === 'superseded') === isWhole(attempt) ? [] : [isWhole(attempt) ? 'it is whole' : 'it is not whole'];
}

/** The trajectory was given up: its last attempt expired, or its request was lost and could not be repeated. */
const isGivenUp = (reason: string): boolean => reason === 'expired' || reason === 'lost';

/** The reason of a discarded group must follow from its trajectories. */
function checkReasons(of: Case, group: GroupCase): readonly string[] {
  const final = group.discards.filter(({ event }) => !isOfAttempt(event.reason) && !isGivenUp(event.reason));
  const [first] = final;
  if (first === undefined) return [];
  const { reason, version } = first.event;
  if (group.trained.length > 0) return [`group ${group.id} was trained on, and ${reason} discards of it exist`];
  if (final.some(({ event }) => event.reason !== reason || event.version !== version))
    return [`group ${group.id} was discarded for several reasons`];
  const winners = final.flatMap(({ event }) => of.histories.get(event.trajectory_id)?.winner ?? []);
  return reason === reasonOf(of, winners, first.event) ? [] : [`group ${group.id} was discarded as ${reason}, which it is not`];
}

/** Why a group with these attempts is not trained on: the first of these that holds. */
function reasonOf({ run, rewinds }: Case, winners: readonly AttemptHistory[], { version, sequence }: DiscardFact['event']): string {
  const rewards = winners.map(({ end }) => end?.reward);
  const accounts = winners.map((winner) => accountOf(winner, version));
  const isAbandoned = abandonedBy(rewinds, sequence);
  const spans = winners.flatMap((winner) => turnsOf(winner).flatMap((turn) => turn.spans));
  const unknown = Math.max(...accounts.map(({ unknown_tokens: count, tokens }) => count / Math.max(1, tokens)));
  const reasons: readonly (readonly [string, boolean])[] = [
    ['incomplete', winners.length < 2],
    ['uniform_group', run?.algorithm !== 'reinforce' && rewards.every((reward) => reward === rewards[0])],
    ['rewound', spans.some((span) => isAbandoned(span.version))],
    ['unknown_version', unknown > mostUnknown(run)],
    ['stale', Math.max(...accounts.map((account) => account.staleness_worst)) > (run?.max_staleness ?? 0)],
  ];
  return reasons.find(([, holds]) => holds)?.[0] ?? '';
}

/** Share of tokens of an unknown version that a trajectory may have. */
function mostUnknown(run: Case['run']): number {
  if (run === undefined || run.settings === '') return 1;
  const { requests } = JSON.parse(run.settings) as { readonly requests?: { readonly maxUnknown?: number } };
  return requests?.maxUnknown ?? 1;
}
