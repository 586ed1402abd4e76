// Everything of a run that the checks of the oracle look at, gathered once.
import type { RunStarted } from '../../../schemas/generated/events.ts';
import { eventsOf, type FactOf, type RunFacts } from './facts.ts';
import { isWhole, refold, type TrajectoryHistory } from './refold.ts';

export type Step = FactOf<'StepCompleted'>;
export type Discard = FactOf<'TrajectoryDiscarded'>;
export type Trained = Step['event']['trajectories'][number];

export interface AdmittedGroup {
  readonly id: string;
  /** Order of admission. */
  readonly index: number;
  /** Ledger sequence of its admission. */
  readonly sequence: number;
  readonly trajectories: readonly string[];
  readonly trained: readonly { readonly step: Step; readonly row: Trained }[];
  readonly discards: readonly Discard[];
  /** Ledger sequence of the entry that closed it; Infinity while it is open. */
  readonly closedAt: number;
}

export interface Case {
  readonly facts: RunFacts;
  readonly run: RunStarted | undefined;
  readonly steps: readonly Step[];
  readonly discards: readonly Discard[];
  readonly groups: ReadonlyMap<string, AdmittedGroup>;
  readonly histories: ReadonlyMap<string, TrajectoryHistory>;
  /** Groups of which the log lost records after they were acknowledged, or whose records lie where it had lost others. */
  readonly touched: ReadonlySet<string>;
}

/** Discards of one attempt: its trajectory may have been trained on with another. */
export const isOfAttempt = (reason: string): boolean => reason === 'superseded' || reason === 'invalid';

export const groupOf = (trajectory: string): string => trajectory.slice(0, trajectory.lastIndexOf('.'));

export function openCase(facts: RunFacts): Case {
  const steps = eventsOf(facts.training, 'StepCompleted');
  const discards = eventsOf(facts.training, 'TrajectoryDiscarded');
  const run = eventsOf(facts.training, 'RunStarted')[0]?.event;
  const touched = touchedBy(facts);
  const settled = [...steps.flatMap(({ event }) => event.trajectories), ...discards.map(({ event }) => event)];
  const histories = asSettled(refold([...facts.gone.flatMap(({ rollouts }) => rollouts), ...facts.rollouts]), settled, touched);
  return { facts, run, steps, discards, groups: groupsOf(facts, steps, discards), histories, touched };
}

const cutsOf = ({ gone }: RunFacts) => gone.filter(({ how, topic }) => how === 'cut' && topic === 'rollouts');

/** A reader that lives on may miss what is written where it has read before. */
function touchedBy(facts: RunFacts): ReadonlySet<string> {
  const cuts = cutsOf(facts);
  const ranges = cuts.flatMap((cut) => cut.ranges);
  const inside = facts.rollouts.filter(({ partition, offset }) =>
    ranges.some((range) => range.partition === partition && offset >= range.from && offset < range.to),
  );
  return new Set([...cuts.flatMap(({ rollouts }) => rollouts), ...inside].map(({ group }) => group));
}

/**
 * Which attempt was the first to be whole depends on when a reader read, where the log lost records: there it is the one
 * that the ledger names, as long as it is whole by what was written.
 */
function asSettled(
  histories: ReadonlyMap<string, TrajectoryHistory>,
  settled: readonly { readonly trajectory_id: string; readonly attempt: number; readonly reason?: string }[],
  touched: ReadonlySet<string>,
): ReadonlyMap<string, TrajectoryHistory> {
  const named = new Map(settled.filter(({ reason = '' }) => !isOfAttempt(reason)).map((row) => [row.trajectory_id, row.attempt]));
  return new Map(
    [...histories].map(([id, history]) => {
      const attempt = touched.has(history.group) ? history.attempts.get(named.get(id) ?? -1) : undefined;
      return [id, attempt !== undefined && isWhole(attempt) ? { ...history, winner: attempt } : history];
    }),
  );
}

function groupsOf(facts: RunFacts, steps: readonly Step[], discards: readonly Discard[]): ReadonlyMap<string, AdmittedGroup> {
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

/** Values by key, in their order. */
export function gather<K, V>(pairs: readonly (readonly [K, V])[]): ReadonlyMap<K, readonly V[]> {
  const gathered = new Map<K, V[]>();
  for (const [key, value] of pairs) {
    const known = gathered.get(key);
    if (known === undefined) gathered.set(key, [value]);
    else known.push(value);
  }
  return gathered;
}

/** Those that are there more than once. */
export function repeated(ids: readonly string[]): readonly string[] {
  const [seen, twice] = [new Set<string>(), new Set<string>()];
  for (const id of ids) (seen.has(id) ? twice : seen).add(id);
  return [...twice];
}
