// Everything about a run that the checks of the test oracle (oracle.ts) need, collected once.
import type { RunStarted } from '../../../schemas/generated/events.ts';
import { eventsOf, type FactOf, type RunFacts } from './facts.ts';
import { isWhole, refold, type TrajectoryHistory } from './refold.ts';

export type StepFact = FactOf<'StepCompleted'>;
export type DiscardFact = FactOf<'TrajectoryDiscarded'>;
export type TrainedFact = StepFact['event']['trajectories'][number];

export interface GroupCase {
  readonly id: string;
  /** Position in the order of admission, from 0. */
  readonly index: number;
  /** Ledger sequence of its admission. */
  readonly sequence: number;
  readonly trajectories: readonly string[];
  readonly trained: readonly { readonly step: StepFact; readonly row: TrainedFact }[];
  readonly discards: readonly DiscardFact[];
  /** Ledger sequence of the entry that closed it; Infinity while it is open. */
  readonly closedAt: number;
}

export interface Case {
  readonly facts: RunFacts;
  readonly run: RunStarted | undefined;
  /** Whether the trainer of the run is external: such a trainer leases batches. */
  readonly isExternal: boolean;
  readonly steps: readonly StepFact[];
  readonly discards: readonly DiscardFact[];
  readonly rewinds: readonly FactOf<'RunRewound'>[];
  readonly groups: ReadonlyMap<string, GroupCase>;
  readonly histories: ReadonlyMap<string, TrajectoryHistory>;
  /** Groups of which the log lost acknowledged records, or whose records were later written at the offsets of lost ones. */
  readonly touched: ReadonlySet<string>;
}

/** Whether a discard is of a single attempt: another attempt of the trajectory may have been trained on. */
export const isOfAttempt = (reason: string): boolean => reason === 'superseded' || reason === 'invalid';

export const groupOf = (trajectory: string): string => trajectory.slice(0, trajectory.lastIndexOf('.'));

export function openCase(facts: RunFacts): Case {
  const steps = eventsOf(facts.training, 'StepCompleted');
  const discards = eventsOf(facts.training, 'TrajectoryDiscarded');
  const rewinds = eventsOf(facts.training, 'RunRewound');
  const run = eventsOf(facts.training, 'RunStarted')[0]?.event;
  const touched = touchedBy(facts);
  const decided = [...steps.flatMap(({ event }) => event.trajectories), ...discards.map(({ event }) => event)];
  const histories = asDecided(refold([...facts.gone.flatMap(({ rollouts }) => rollouts), ...facts.rollouts]), decided, touched);
  return {
    facts,
    run,
    isExternal: run?.backend === 'external',
    steps,
    discards,
    rewinds,
    groups: groupsOf(facts, steps, discards),
    histories,
    touched,
  };
}

const cutsOf = ({ gone }: RunFacts) => gone.filter(({ how, topic }) => how === 'cut' && topic === 'rollouts');

/** A reader that keeps running while the log loses records may miss records that are later written at offsets it has already read. */
function touchedBy(facts: RunFacts): ReadonlySet<string> {
  const cuts = cutsOf(facts);
  const ranges = cuts.flatMap((cut) => cut.ranges);
  const inside = facts.rollouts.filter(({ partition, offset }) =>
    ranges.some((range) => range.partition === partition && offset >= range.from && offset < range.to),
  );
  return new Set([...cuts.flatMap(({ rollouts }) => rollouts), ...inside].map(({ group }) => group));
}

/**
 * If the log lost records, different readers may see different attempts as the first complete one. For the affected groups, the attempt in
 * the ledger counts, provided that it is complete when all records that were ever written are considered, including the lost ones.
 */
function asDecided(
  histories: ReadonlyMap<string, TrajectoryHistory>,
  decided: readonly { readonly trajectory_id: string; readonly attempt: number; readonly reason?: string }[],
  touched: ReadonlySet<string>,
): ReadonlyMap<string, TrajectoryHistory> {
  const named = new Map(decided.filter(({ reason = '' }) => !isOfAttempt(reason)).map((row) => [row.trajectory_id, row.attempt]));
  return new Map(
    [...histories].map(([id, history]) => {
      const attempt = touched.has(history.group) ? history.attempts.get(named.get(id) ?? -1) : undefined;
      return [id, attempt !== undefined && isWhole(attempt) ? { ...history, winner: attempt } : history];
    }),
  );
}

function groupsOf(facts: RunFacts, steps: readonly StepFact[], discards: readonly DiscardFact[]): ReadonlyMap<string, GroupCase> {
  const trained = gather(steps.flatMap((step) => step.event.trajectories.map((row) => [row.group_id, { step, row }] as const)));
  const discarded = gather(discards.map((discard) => [discard.event.group_id, discard] as const));
  const admitted = eventsOf(facts.training, 'GroupsAdmitted').flatMap(({ event }) =>
    event.groups.map((group) => ({ ...group, sequence: event.sequence })),
  );
  return new Map(
    admitted.map(({ group_id: id, samples, sequence }, index) => {
      const [own, gone] = [trained.get(id) ?? [], discarded.get(id) ?? []];
      const closedAt = Math.min(Infinity, ...own.map(({ step }) => step.event.sequence), ...gone.map(({ event }) => event.sequence));
      const trajectories = Array.from({ length: samples }, (_, sample) => `${id}.${sample}`);
      return [id, { id, index, sequence, trajectories, trained: own, discards: gone, closedAt }];
    }),
  );
}

/** Collects the values of each key; keys and values keep their order. */
export function gather<K, V>(pairs: readonly (readonly [K, V])[]): ReadonlyMap<K, readonly V[]> {
  const gathered = new Map<K, V[]>();
  for (const [key, value] of pairs) {
    const known = gathered.get(key);
    if (known === undefined) gathered.set(key, [value]);
    else known.push(value);
  }
  return gathered;
}

/** Ids that occur more than once. */
export function repeated(ids: readonly string[]): readonly string[] {
  const [seen, twice] = [new Set<string>(), new Set<string>()];
  for (const id of ids) (seen.has(id) ? twice : seen).add(id);
  return [...twice];
}
