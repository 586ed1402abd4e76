// Reads the ledger for a replay: first a survey of all of it, which checks the chain and notes the position of each step, then the steps of
// a window, so that memory does not grow with the run.
import type { Resume, RewardsCounted, RunStarted, StepCompleted } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import { groupIdOf } from '../../streams/core/ids.ts';
import { runEvents, type RunSource } from '../../streams/core/read-log.ts';
import type { LedgerEntry } from '../../streams/ledger/chain.ts';
import { entriesOf } from '../../streams/ledger/read-ledger.ts';
import { EXTERNAL } from '../../streams/run/fold.ts';
import { createLedgerVerifier } from '../../streams/run/verify-ledger.ts';

/** What is kept of every step. */
export interface StepMark {
  readonly step: number;
  /** Position of its entry in the training topic. */
  readonly partition: number;
  readonly offset: number;
  readonly trajectories: number;
  readonly resume: Resume;
  readonly weightsSha256: string;
  readonly optimizerSha256: string;
  /** The process that made the step. */
  readonly producer: string;
}

export interface Survey {
  readonly started: RunStarted;
  /** Marks of steps in order: 1, 2, …, without the numbers of versions that no step made. */
  readonly steps: readonly StepMark[];
  /** Of an external trainer, by version; empty for any other run. */
  readonly weights: WeightsOfRun;
}

/** The weights of a version, as its newest publication describes them. */
interface PublishedPolicyWeights {
  readonly sha256: string;
  readonly parent: number;
}

export interface WeightsOfRun {
  readonly published: ReadonlyMap<number, PublishedPolicyWeights>;
  /** Hashes that the ledger records after the commit. */
  readonly namedLater: ReadonlyMap<number, string>;
}

/**
 * Reads the ledger up to step `last`. Throws NOT_FOUND when the run or step does not exist, LEDGER_BROKEN when the chain does not verify up
 * to there.
 */
export async function surveyLedger(source: RunSource, last: number): Promise<Survey> {
  const verifier = createLedgerVerifier();
  const steps: StepMark[] = [];
  const namedLater = new Map<number, string>();
  let started: RunStarted | undefined;
  for await (const { entry, body, ...at } of entriesOf(source)) {
    verifier.entry(entry, body, at.offset);
    if (entry.type === 'RunStarted') started = entry.event;
    if (entry.type === 'WeightsNamed') namedLater.set(entry.event.version, entry.event.sha256);
    if (entry.type !== 'StepCompleted') continue;
    if (entry.event.step <= last) steps.push(markOf(entry.event, at));
    if (entry.event.step >= last) break;
  }
  const doing = `replaying run ${source.runId}`;
  if (started === undefined) throw new PlatformError('NOT_FOUND', `${doing}: there is no such run; \`turnstream status\` lists them`);
  const broken = verifier.report().problems.find(({ offset }) => offset >= 0);
  if (broken !== undefined) {
    throw new PlatformError(
      'LEDGER_BROKEN',
      `${doing}: ${broken.problem} (offset ${broken.offset} of training); run turnstream ledger verify --run ${source.runId}`,
    );
  }
  if (last !== Infinity) assertStep(steps, last, doing);
  return { started, steps, weights: { published: await publishedBy(source, started), namedLater } };
}

async function publishedBy(source: RunSource, { backend }: RunStarted): Promise<WeightsOfRun['published']> {
  const published = new Map<number, PublishedPolicyWeights>();
  if (backend !== EXTERNAL) return published;
  for await (const read of runEvents(source, 'policies')) {
    if (!read.ok || read.value.type !== 'PolicyPublished') continue;
    const { version, sha256, parent } = read.value.event;
    published.set(version, { sha256, parent });
  }
  return published;
}

function assertStep(steps: readonly StepMark[], last: number, doing: string): void {
  const newest = steps.at(-1)?.step ?? 0;
  if (newest !== last) throw new PlatformError('NOT_FOUND', `${doing}: it has no step ${last}; the last one up to there is step ${newest}`);
}

const markOf = (event: StepCompleted, { partition, offset }: { readonly partition: number; readonly offset: number }): StepMark => ({
  step: event.step,
  partition,
  offset,
  trajectories: event.trajectories.length,
  resume: event.resume,
  weightsSha256: event.weights_sha256,
  optimizerSha256: event.optimizer_sha256,
  producer: event.producer,
});

/** A step as recorded in the ledger. */
export interface LedgerStep {
  readonly event: StepCompleted;
  /** Trajectories of its groups that the ledger discards with it. */
  readonly discarded: ReadonlySet<string>;
  /** The attached rewards with which its groups were decided; empty for a step without any. */
  readonly counted: readonly Pick<RewardsCounted, 'names' | 'groups'>[];
}

interface ReadStep extends LedgerStep {
  readonly discarded: Set<string>;
  readonly counted: RewardsCounted[];
  readonly groups: ReadonlySet<string>;
}

/** The entries of steps `first`..`last`, in order. */
export async function readSteps(source: RunSource, first: StepMark, last: StepMark): Promise<readonly LedgerStep[]> {
  const steps: ReadStep[] = [];
  for await (const { entry } of entriesOf(source, new Map([[first.partition, first.offset]]))) {
    const { type, event } = entry;
    const current = steps.at(-1);
    if (type === 'StepCompleted') {
      if (event.step > last.step) break;
      const groups = new Set(event.trajectories.map((one) => groupIdOf(one.trajectory_id)));
      steps.push({ event, discarded: new Set(), counted: [], groups });
    } else if (type === 'TrajectoryDiscarded' || type === 'RewardsCounted') {
      if (current !== undefined) noteIn(current, entry);
    } else if (current?.event.step === last.step) {
      break;
    }
  }
  return steps;
}

/** Adds an entry to the step if it is about one of its groups. */
function noteIn({ groups, discarded, counted }: ReadStep, { type, event }: LedgerEntry): void {
  if (type === 'TrajectoryDiscarded' && groups.has(event.group_id)) discarded.add(event.trajectory_id);
  if (type === 'RewardsCounted' && event.groups.some(({ group_id: id }) => groups.has(id))) counted.push(event);
}
