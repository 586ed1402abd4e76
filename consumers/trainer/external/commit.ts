// Commits a leased batch as a step, in one transaction and at most once.
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import { inStep, reachNothing } from '../../../streams/core/crash-points.ts';
import type { UpdateMetrics } from '../../../streams/core/learning.ts';
import type { CommitAnswer, CommitRequest, WeightsOfCommit } from '../../../streams/leases/coordinator.ts';
import { decideCommit, headOf, type Refused } from '../../../streams/leases/decide.ts';
import { reportHash } from '../../../streams/leases/report-hash.ts';
import { EXTERNAL } from '../../../streams/run/fold.ts';
import type { TrainedBatch, UnpublishedPolicy } from '../commit-parts.ts';
import { planFor } from '../plan-for.ts';
import { reportBatch } from '../report-batch.ts';
import type { Job, ExternalLife } from '../deps.ts';
import { leasedBatch, refusal, timesOf } from './leases.ts';

export const commitJob =
  (batchId: string, request: CommitRequest): Job<CommitAnswer> =>
  async (life, loop) => {
    const { state } = life;
    const reportSha256 = reportHash(request);
    // after the end of a run, epochs no longer matter
    const epoch = state.finished === undefined ? request.epoch : state.leases.epoch;
    const decision = decideCommit(state.leases, { epoch, batchId, batchSha256: request.batch_sha256, reportSha256 });
    if (decision.kind === 'refused') return refusal(decision);
    if (decision.kind === 'repeat') {
      const { version, lineage } = decision.commit;
      return { kind: 'answer', value: { step: version, version, lineage, replayed: true } };
    }
    const { lease } = decision;
    const wrong = noSuchRow(lease, request);
    if (wrong !== undefined) return refusal(wrong);
    const batch = leasedBatch(state, lease, timesOf(life, loop, batchId));
    const told = toldOf(lease, request, { lineage: headOf(state.leases).lineage, reportSha256 });
    const trained: TrainedBatch = {
      ...{ batch, told, optimizerSha256: '', weightsSha256: request.policy?.sha256 ?? '' },
      update: { metrics: metricsOf(request.metrics), trainMs: request.train_ms ?? 0 },
      policy: request.policy === null ? undefined : policyOf(life, request.policy, { version: lease.step, parent: lease.version_before }),
    };
    const commitMs = await inStep(life.reach ?? reachNothing, 'coordinator.commit', () =>
      life.feed.exclusively(() => life.committer.step(trained, planFor(life, loop, lease.step))),
    );
    loop.leaseTimes.delete(batchId);
    life.external.rows.forget(lease);
    loop.waitedSinceMs = life.clock.monotonic();
    reportBatch(life, batch, { trainMs: trained.update.trainMs, commitMs });
    return { kind: 'answer', value: { step: lease.step, version: state.version, lineage: headOf(state.leases).lineage, replayed: false } };
  };

/** Refuses a report about rows that the batch does not have. */
function noSuchRow({ batch_id: id, rows }: BatchLeased, { skipped = [] }: CommitRequest): Refused | undefined {
  const beyond = skipped.find(({ row }) => row >= rows);
  if (beyond === undefined) return undefined;
  const message = `committing a batch: skipped names row ${beyond.row}, but ${id} has ${rows} rows, numbered from 0`;
  return { kind: 'refused', code: 'REQUEST_INVALID', message };
}

const toldOf = (
  lease: BatchLeased,
  { metrics, skipped = [] }: CommitRequest,
  { lineage, reportSha256 }: { readonly lineage: string; readonly reportSha256: string },
): TrainedBatch['told'] => ({
  batch_id: lease.batch_id,
  trained_rows: lease.rows - new Set([...lease.untrainable, ...skipped.map(({ row }) => row)]).size,
  skipped,
  lineage,
  report: JSON.stringify(metrics),
  report_sha256: reportSha256,
});

/** The metrics that have columns of their own. The report holds all of them. */
function metricsOf(told: CommitRequest['metrics']): UpdateMetrics {
  const of = (name: keyof UpdateMetrics): number => told[name] ?? 0;
  return {
    ...{ loss: of('loss'), approx_kl: of('approx_kl'), behave_kl: of('behave_kl'), clip_fraction: of('clip_fraction') },
    ...{ capped_fraction: of('capped_fraction'), ess: of('ess'), entropy: of('entropy'), grad_norm: of('grad_norm') },
  };
}

/** `PolicyPublished` for weights that the trainer refers to by URI. */
export function policyOf(
  { architecture }: Pick<ExternalLife, 'architecture'>,
  told: WeightsOfCommit,
  { version, parent }: Pick<UnpublishedPolicy, 'version' | 'parent'>,
): UnpublishedPolicy {
  const { uri, sha256, format, bytes = 0, loadable = true, manifest = [] } = told;
  return {
    ...{ version, parent, sha256, format, uri, bytes, loadable, manifest },
    ...{ weights: Buffer.alloc(0), optimizer: Buffer.alloc(0), optimizer_sha256: '' },
    architecture: format === architecture.format ? JSON.stringify(architecture) : '{}',
    backend: EXTERNAL,
  };
}
