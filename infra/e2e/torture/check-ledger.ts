// Checks the ledger itself: its chain, its versions and their weights, the bound on admission, and the resume points.
import { createHash } from 'node:crypto';
import type { Case, StepFact } from './case.ts';
import { eventsOf, type LogFact, type FactOf } from './facts.ts';
import { problemsOf, type TortureProblem } from './problem.ts';

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Each entry contains its sequence number and the hash of the previous entry; the first one starts the run. */
export function checkChain({ facts }: Case): readonly TortureProblem[] {
  let previous = '0'.repeat(64);
  const texts = facts.training.flatMap(({ read, sha256: own, offset }, i) => {
    const { sequence, previous_sha256: named } = read.event as { readonly sequence?: number; readonly previous_sha256?: string };
    const right = sequence === i && named === previous && (i === 0) === (read.type === 'RunStarted');
    previous = own;
    return right ? [] : [`the entry at offset ${offset} is not entry ${i} of the chain`];
  });
  return problemsOf('chain', texts);
}

/** Steps are 1, 2, 3, …; each version is published once, based on the previous one, with the weights of its step. */
export function checkVersions({ facts, steps, run }: Case): readonly TortureProblem[] {
  const made = [run?.weights_sha256, ...steps.map(({ event }) => event.weights_sha256)];
  const published = eventsOf(facts.policies, 'PolicyPublished').map(({ event }) => event);
  const gaps = steps.flatMap(({ event }, i) =>
    event.step === i + 1 && event.version_after === i + 1 && event.version_before === i
      ? []
      : [`step ${event.step} stands at place ${i + 1}`],
  );
  const wrong = published.flatMap((policy, i) => {
    if (policy.version !== i || policy.parent !== i - 1) return [`version ${policy.version} was published at place ${i}`];
    if (policy.sha256 !== made[i]) return [`the weights of version ${i} are not those that its step made`];
    return policy.uri === '' && sha256(policy.weights) !== policy.sha256 ? [`the weights of version ${i} do not have its hash`] : [];
  });
  const count = published.length === made.length ? [] : [`${made.length} versions were made, ${published.length} published`];
  return problemsOf('version', [...gaps, ...wrong, ...count]);
}

interface LedgerTally {
  version: number;
  /** Each used up a version without a batch. */
  rewinds: number;
  admitted: number;
  readonly discarded: Set<string>;
  readonly trained: Set<string>;
}

const newCount = (): LedgerTally => ({ version: 0, rewinds: 0, admitted: 0, discarded: new Set(), trained: new Set() });

function count(counted: LedgerTally, { read }: LogFact): void {
  if (read.type === 'GroupsAdmitted') counted.admitted += read.event.groups.length;
  if (read.type === 'TrajectoryDiscarded' && !counted.trained.has(read.event.group_id)) counted.discarded.add(read.event.group_id);
  if (read.type === 'RunRewound') {
    counted.version = read.event.version;
    counted.rewinds += 1;
  }
  if (read.type !== 'StepCompleted') return;
  counted.version = read.event.version_after;
  for (const { group_id: id } of read.event.trajectories) counted.trained.add(id);
}

/**
 * Every open group is running or accepted, so both bounds and their terms follow from the ledger alone, entry by entry. Only the number of
 * open groups that are running is taken from the ledger on trust.
 */
export function checkAdmission({ facts, run }: Case): readonly TortureProblem[] {
  const counted = newCount();
  const texts = facts.training.flatMap((fact) => {
    const { read } = fact;
    const problems = read.type === 'GroupsAdmitted' && run !== undefined ? checkEntry(read.event, run, counted) : [];
    count(counted, fact);
    return problems.map((what) => `admission at offset ${fact.offset}: ${what}`);
  });
  return problemsOf('admission', texts);
}

function checkEntry(event: FactOf<'GroupsAdmitted'>['event'], run: FactOf<'RunStarted'>['event'], counted: LedgerTally): readonly string[] {
  const open = counted.admitted - counted.discarded.size + counted.rewinds * run.batch_groups;
  const bound = (run.max_staleness + counted.version + 1) * run.batch_groups;
  const room = Math.min(run.max_concurrent - event.running, bound - event.running - event.accepted);
  const added = event.groups.length;
  return [
    ...(open + added > bound ? [`${open + added} groups are trained on or open at version ${counted.version}; the bound is ${bound}`] : []),
    ...(event.running + added > run.max_concurrent ? [`${event.running + added} groups run, ${run.max_concurrent} may`] : []),
    ...(event.running + event.accepted === open ? [] : [`it counts ${event.running} + ${event.accepted} groups, the ledger has ${open}`]),
    ...(event.version === counted.version ? [] : [`it was made at version ${event.version}, the ledger is at ${counted.version}`]),
    ...(event.running >= 0 && added <= room && event.capacity === added
      ? []
      : [`it admits ${added} groups of ${event.capacity}, there was room for ${room}`]),
    ...(sameLimits(event, run) ? [] : ['its limits are not those of the run']),
  ];
}

const sameLimits = (event: FactOf<'GroupsAdmitted'>['event'], run: FactOf<'RunStarted'>['event']): boolean =>
  event.max_concurrent === run.max_concurrent && event.max_staleness === run.max_staleness && event.batch_groups === run.batch_groups;

/**
 * A resume point must not lie after a record that is needed by a group that is still open after the step, and its counts must match the
 * entries before it.
 */
export function checkResume(of: Case): readonly TortureProblem[] {
  const needs = needsOf(of);
  const counted = newCount();
  const texts = of.facts.training.flatMap((fact) => {
    const before = { admitted: counted.admitted, discarded: counted.discarded.size };
    count(counted, fact);
    if (fact.read.type !== 'StepCompleted') return [];
    const { event } = fact.read;
    const counts =
      event.resume.admitted_groups === before.admitted &&
      event.resume.trained_groups === counted.trained.size &&
      event.resume.discarded_groups === before.discarded;
    const left = needs.filter((need) => !wasLost(of.facts.gone, { need, ledgerOffset: fact.offset }) && !wasNoticed(of.facts, need));
    return [...(counts ? [] : ['it counts other groups than the ledger']), ...passedOver(event, left)].map(
      (what) => `resume of step ${event.step}: ${what}`,
    );
  });
  return problemsOf('resume', texts);
}

/** True when, some time after the step, the partition ended before this position: the record there now was written later. */
const wasLost = (gone: Case['facts']['gone'], { need, ledgerOffset }: { readonly need: Need; readonly ledgerOffset: number }): boolean =>
  gone.some(
    ({ how, topic, ledgerEnd, ranges }) =>
      how === 'cut' &&
      topic === need.topic &&
      ledgerOffset < ledgerEnd &&
      ranges.some(({ partition, from }) => partition === need.partition && need.offset >= from),
  );

/**
 * True when the record lies where other records were cut off. Until the trainer notices, its steps skip it, and a trainer that starts then
 * detects the truncation. The last step that needs it must account for it.
 */
function wasNoticed({ gone, training }: Case['facts'], need: Need): boolean {
  const isReused = gone.some(
    ({ how, topic, ranges }) =>
      how === 'cut' &&
      topic === need.topic &&
      ranges.some(({ partition, from, to }) => partition === need.partition && need.offset >= from && need.offset < to),
  );
  if (!isReused) return false;
  const steps = training.flatMap(({ read }) => (read.type === 'StepCompleted' ? [read.event] : []));
  const last = steps.findLast(({ sequence }) => sequence > need.admittedAt && sequence < need.closedAt);
  return last !== undefined && passedOver(last, [need]).length === 0;
}

interface Need {
  readonly id: string;
  readonly admittedAt: number;
  readonly closedAt: number;
  readonly topic: 'rollouts' | 'tasks';
  readonly partition: number;
  readonly offset: number;
}

/** The first record of every group in every partition of `tasks` and `rollouts`. */
function needsOf({ facts, groups }: Case): readonly Need[] {
  const first = new Map<string, Need>();
  const note = (
    group: string,
    topic: Need['topic'],
    { partition, offset }: { readonly partition: number; readonly offset: number },
  ): void => {
    const known = groups.get(group);
    const key = `${topic}/${partition}/${group}`;
    if (known === undefined || first.has(key)) return;
    first.set(key, { id: group, admittedAt: known.sequence, closedAt: known.closedAt, topic, partition, offset });
  };
  const deleted = facts.gone.filter(({ how }) => how === 'deleted').flatMap(({ tasks }) => tasks);
  for (const fact of [...deleted, ...facts.tasks])
    if (fact.read.type === 'TrajectoryRequested') note(fact.read.event.group_id, 'tasks', fact);
  for (const fact of facts.rollouts) note(fact.group, 'rollouts', fact);
  return [...first.values()];
}

function passedOver({ resume, sequence }: StepFact['event'], needs: readonly Need[]): readonly string[] {
  const at = {
    rollouts: new Map(resume.rollouts.map(({ partition, offset }) => [partition, offset])),
    tasks: new Map(resume.tasks.map(({ partition, offset }) => [partition, offset])),
  };
  return needs
    .filter(({ admittedAt, closedAt }) => admittedAt < sequence && closedAt > sequence)
    .filter(({ topic, partition, offset }) => offset < (at[topic].get(partition) ?? 0))
    .map(({ id, topic, partition, offset }) => `it passes over ${topic}/${partition}/${offset}, which ${id} needs`);
}
