// Commits each decision in one transaction and folds it back into the state, exactly as a restart would. If a commit fails, its outcome is
// unknown: the error ends this trainer, and the next one reads the log.
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
  /** Starts the run; without a policy if the trainer does not make it. */
  begin(started: Unchained<'RunStarted'>, policy: UnpublishedPolicy | undefined): Promise<void>;
  /** Carries out a plan without a step. */
  carryOut(plan: TrainingPlan): Promise<void>;
  /** Commits a step, and returns the duration of the transaction, ms. */
  step(trained: TrainedBatch, plan: TrainingPlan): Promise<number>;
  /** Records a collected batch, for a policy that the trainer does not make, and carries out the plan that it belongs to. */
  collect(batch: PreparedBatch, plan: TrainingPlan): Promise<number>;
  /**
   * Appends entries outside of steps: the run ends or is continued, a batch is leased, or a version is made or published without a step.
   */
  append(entries: readonly PlainEntry[], publication?: Publication): Promise<void>;
}

export interface Publication {
  readonly policy: UnpublishedPolicy;
  /** True if the version was published before, or may have been. */
  readonly again: boolean;
}

/** A ledger entry without its position in the chain. */
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
      // a collected batch is not trained on
      const resume = { ...resumeOf(state, idsOf(batch)), trained_groups: state.counters.trainedGroups };
      addBatch(deps, ledger, { batch, version: plan.terms.version, resume });
      const tookMs = await commit(ledger, addPlan(deps, ledger, plan), resume);
      metrics.count('trainer_batches_total', {});
      return tookMs;
    },
    async append(entries, publication) {
      const ledger = createLedgerWriter(author, state.chain);
      for (const { type, fields } of entries) ledger.add(type, fields);
      await commit(ledger, publishedBy(author, publication?.policy, publication?.again === true ? `/${state.chain.sequence}` : ''));
    },
  };
}

const idsOf = ({ groups }: PreparedBatch): ReadonlySet<string> => new Set(groups.map(({ id }) => id));

/** `tail` makes the event ids of several publications of a version unique. */
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

/** Metadata that lets the next start detect a truncated log. */
const metadataOf = (mark: RecordMark | undefined): { readonly metadata?: string } =>
  mark === undefined ? {} : { metadata: textOfMark(mark) };
