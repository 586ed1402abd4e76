// Decides from the raw log alone whether a run kept its guarantees: nothing lost, nothing trained twice, no gap in the versions, every step
// equal to a fresh fold of the records, both bounds satisfied at every step.
//
// It is independent of the code that it checks: it imports the codec, and nothing of the trainer, the folds in streams/ or the sink. It
// ignores the clocks of the run and assumes no order between partitions.
import { openCase } from './case.ts';
import { checkAdmission, checkChain, checkResume, checkVersions } from './check-ledger.ts';
import { checkLeases, countLeases, type LeaseCounts } from './check-leases.ts';
import { checkLineage, checkMadeVersions } from './check-lineage.ts';
import { checkNeedless, countNeedless, type Needless, type Witness } from './check-needless.ts';
import {
  checkAttempts,
  checkOrder,
  checkOutcomes,
  checkStuck,
  countOutcomes,
  unknownGroups,
  type OutcomeCounts,
} from './check-outcomes.ts';
import { checkVanished, countGroups, type GroupCounts } from './check-groups.ts';
import { checkDiscards } from './check-discards.ts';
import { checkStaleness, checkSteps } from './check-steps.ts';
import type { RunFacts } from './facts.ts';
import type { TortureProblem, ProblemKind } from './problem.ts';

/** Counts of trajectories by outcome, and all problems. */
export interface OracleVerdict extends OutcomeCounts {
  readonly steps: number;
  readonly attempts: number;
  readonly groups: GroupCounts;
  readonly leases: LeaseCounts;
  readonly needless: Needless;
  /** Discards by reason. */
  readonly discards: Readonly<Partial<Record<string, number>>>;
  readonly worstStaleness: number;
  /** Number of problems of each kind; kinds without problems are missing. */
  readonly found: Readonly<Partial<Record<ProblemKind, number>>>;
  readonly problems: readonly TortureProblem[];
}

/** Checks one run; attempts that were given up in vain are detected only with a witness. */
export function judgeRun(facts: RunFacts, witness?: Witness): OracleVerdict {
  const of = openCase(facts);
  const staleness = checkStaleness(of);
  const problems = [
    ...(of.run === undefined ? [{ kind: 'chain', text: 'the ledger does not begin' } as const] : []),
    ...checkOutcomes(of),
    ...unknownGroups(of),
    ...checkOrder(of),
    ...checkStuck(of),
    ...checkVanished(of),
    ...checkAttempts(of),
    ...checkChain(of),
    ...(of.isExternal ? checkMadeVersions(of) : checkVersions(of)),
    ...checkLeases(of),
    ...checkLineage(of),
    ...checkSteps(of),
    ...checkDiscards(of),
    ...staleness.problems,
    ...checkAdmission(of),
    ...checkResume(of),
    ...(witness === undefined ? [] : checkNeedless(of, witness)),
  ];
  return {
    ...countOutcomes(of),
    steps: of.steps.length,
    attempts: [...of.histories.values()].reduce((sum, { attempts }) => sum + attempts.size, 0),
    groups: countGroups(of),
    leases: countLeases(of),
    needless: countNeedless(of, witness),
    discards: tally(of.discards.map(({ event }) => event.reason)),
    worstStaleness: staleness.worst,
    found: tally(problems.map(({ kind }) => kind)),
    problems,
  };
}

function tally<K extends string>(names: readonly K[]): Readonly<Partial<Record<K, number>>> {
  const counts: Partial<Record<K, number>> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
