// Turns decisions into one transaction each and folds them back into the state, exactly as a restart would. When a
// commit fails nobody knows whether it happened: the error ends this trainer, and the next one reads the log.
import { inStep, reachNothing } from '../../streams/core/crash-points.ts';
import type { Appended, OutgoingEvent, Position } from '../../streams/core/ports.ts';
import type { LedgerType, Unchained } from '../../streams/ledger/chain.ts';
import { foldLedger, foldTask } from '../../streams/run/fold.ts';
import { forgetClosed, resumeOf } from '../../streams/run/resume.ts';
import type { RecordMark } from '../../streams/run/run-state.ts';
import type { Resume } from '../../schemas/generated/events.ts';
import type { CommitDeps, PreparedBatch, TrainedBatch, UnpublishedPolicy } from './commit-parts.ts';
import { textOfMark } from './cut-log.ts';
import { addBatch, addPlan, addStep } from './ledger-entries.ts';
import { createLedgerWriter, type Author, type LedgerWriter } from './ledger-writer.ts';
import { claimAt } from './ownership.ts';
import type { TrainingPlan } from '../../streams/trainer/plan.ts';

export interface Committer {
  /** Without a policy when the trainer does not make it. */
  begin(started: Unchained<'RunStarted'>, policy: UnpublishedPolicy | undefined): Promise<void>;
  /** Carries out a plan without a step. */
  carryOut(plan: TrainingPlan): Promise<void>;
  /** Answers how long its transaction took, ms. */
  step(trained: TrainedBatch, plan: TrainingPlan): Promise<number>;
  /** Keeps a batch of a policy that the trainer does not make, and carries the plan out that it is of. */
  collect(batch: PreparedBatch, plan: TrainingPlan): Promise<number>;
  /** Entries without a step: the run is over, or goes on after it was; a batch is leased; a version is made or published that no step made. */
  append(entries: readonly PlainEntry[], publication?: Publication): Promise<void>;
}

export interface Publication {
  readonly policy: UnpublishedPolicy;
  /** The version was published before, or could have been. */
  readonly again: boolean;
}

/** An entry without its place in the chain. */
export type PlainEntry = {
  readonly [T in LedgerType]: { readonly type: T; readonly fields: Unchained<T> };
}['RunFinished' | 'RunContinued' | 'TrainerClaimed' | 'BatchLeased' | 'BatchReleased' | 'RunRewound' | 'WeightsNamed'];

export function createCommitter(deps: CommitDeps): Committer {
  const { author, state, metrics } = deps;

  async function commit(ledger: LedgerWriter, others: readonly OutgoingEvent[], resume?: Resume): Promise<number> {
    const entries = ledger.events();
    const from = deps.nowMs();
    const appended = await deps.writer.commit({
      events: [...entries, ...others],
      ...(resume === undefined ? {} : { offsets: { group: deps.offsetsGroup, positions: positionsOf(resume, deps) } }),
    });
    const tookMs = deps.nowMs() - from;
    metrics.observe('trainer_transaction_seconds', {}, tookMs / 1000);
    await inStep(deps.reach ?? reachNothing, 'trainer.fold-back', async () => {
      foldBack(ledger, others, appended);
    });
    if (resume !== undefined) forgetClosed(state, resume);
    return tookMs;
  }

  function foldBack(ledger: LedgerWriter, others: readonly OutgoingEvent[], appended: readonly Appended[]): void {
    ledger.written.forEach(({ entry, body }, i) => {
      foldLedger(state, entry, { body, offset: appended[i]?.offset ?? state.ledgerPosition });
    });
    others.forEach((event, i) => {
      const place = appended[ledger.written.length + i];
      if (event.type === 'TrajectoryRequested' && place !== undefined) foldTask(state, event.event, place);
    });
  }

  return {
    async begin(started, policy) {
      const ledger = createLedgerWriter(author, state.chain);
      ledger.add('RunStarted', started);
      await commit(ledger, publishedBy(author, policy), started.resume);
    },
    async carryOut(plan) {
      const ledger = createLedgerWriter(author, state.chain);
      await commit(ledger, addPlan(deps, ledger, plan));
    },
    async step(trained, plan) {
      const ledger = createLedgerWriter(author, state.chain);
      const resume = resumeOf(state, idsOf(trained.batch));
      addStep(deps, ledger, { trained, resume });
      const requests = addPlan(deps, ledger, plan);
      const tookMs = await commit(ledger, [...publishedBy(author, trained.policy), ...requests], resume);
      metrics.count('trainer_steps_total', {});
      return tookMs;
    },
    async collect(batch, plan) {
      const ledger = createLedgerWriter(author, state.chain);
      // nothing is trained on
      const resume = { ...resumeOf(state, idsOf(batch)), trained_groups: state.counters.trainedGroups };
      addBatch(deps, ledger, { batch, version: plan.terms.version, resume });
      const tookMs = await commit(ledger, addPlan(deps, ledger, plan), resume);
      metrics.count('trainer_batches_total', {});
      return tookMs;
    },
    async append(entries, publication) {
      const ledger = createLedgerWriter(author, state.chain);
      for (const { type, fields } of entries) ledger.add(type, fields);
      const tail = publication?.again === true ? `/${state.chain.sequence}` : '';
      await commit(ledger, publishedBy(author, publication?.policy, tail));
    },
  };
}

const idsOf = ({ groups }: PreparedBatch): ReadonlySet<string> => new Set(groups.map(({ id }) => id));

/** `tail` tells publications of a version apart. */
function publishedBy(author: Author, policy: UnpublishedPolicy | undefined, tail = ''): readonly OutgoingEvent[] {
  if (policy === undefined) return [];
  const { runId, producer } = author;
  const common = { event_id: `${runId}/policy/${policy.version}${tail}`, run_id: runId, occurred_at: author.now(), producer };
  return [{ type: 'PolicyPublished', key: runId, event: { ...common, ...policy } }];
}

function positionsOf(
  resume: Resume,
  { start, claim, state }: Pick<CommitDeps, 'start' | 'claim' | 'state'>,
): readonly (Position & { readonly metadata?: string })[] {
  return [
    ...resume.rollouts.map((position) => ({
      topic: 'rollouts' as const,
      ...position,
      ...metadataOf(state.rolloutMarks.get(position.partition)),
    })),
    ...resume.tasks.map((position) => ({ topic: 'tasks' as const, ...position })),
    { topic: 'training', partition: 0, offset: start.training },
    claimAt(start.policies, claim),
  ];
}

/** What the next start recognizes the log by, if it was cut meanwhile. */
const metadataOf = (mark: RecordMark | undefined): { readonly metadata?: string } =>
  mark === undefined ? {} : { metadata: textOfMark(mark) };
