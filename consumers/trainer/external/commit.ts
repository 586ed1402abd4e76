// A trainer commits a batch: the transaction of a step, once for each batch.
import { createHash } from 'node:crypto';
import type { BatchLeased } from '../../../schemas/generated/events.ts';
import type { UpdateMetrics } from '../../../streams/core/learning.ts';
import type { CommitAnswer, CommitRequest, WeightsOfCommit } from '../../../streams/leases/coordinator.ts';
import { decideCommit, headOf } from '../../../streams/leases/decide.ts';
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
    const reportSha256 = hashOf(request);
    const call = { epoch: request.epoch, batchId, batchSha256: request.batch_sha256, reportSha256 };
    const decision = decideCommit(state.leases, call);
    if (decision.kind === 'refused') return refusal(decision);
    if (decision.kind === 'repeat') {
      const { version, lineage } = decision.commit;
      return { kind: 'answer', value: { step: version, version, lineage, replayed: true } };
    }
    const { lease } = decision;
    const batch = leasedBatch(state, lease, timesOf(life, loop, batchId));
    const told = toldOf(lease, request, { lineage: headOf(state.leases).lineage, reportSha256 });
    const trained: TrainedBatch = {
      ...{ batch, told, optimizerSha256: '', weightsSha256: request.policy?.sha256 ?? '' },
      update: { metrics: metricsOf(request.metrics), trainMs: request.train_ms ?? 0 },
      policy: request.policy === null ? undefined : policyOf(life, request.policy, lease.step),
    };
    const commitMs = await life.feed.exclusively(() => life.committer.step(trained, planFor(life, loop, lease.step)));
    loop.leaseTimes.delete(batchId);
    loop.waitedSinceMs = life.clock.monotonic();
    reportBatch(life, batch, { trainMs: trained.update.trainMs, commitMs });
    return { kind: 'answer', value: { step: lease.step, version: state.version, lineage: headOf(state.leases).lineage, replayed: false } };
  };

const toldOf = (
  lease: BatchLeased,
  { metrics, skipped = [] }: CommitRequest,
  { lineage, reportSha256 }: { readonly lineage: string; readonly reportSha256: string },
): TrainedBatch['told'] => ({
  batch_id: lease.batch_id,
  trained_rows: lease.rows - new Set(skipped.map(({ row }) => row)).size,
  skipped,
  lineage,
  report: JSON.stringify(metrics),
  report_sha256: reportSha256,
});

/** Of everything but the epoch: a trainer that claims the run again repeats its commit in the same words. */
function hashOf({ epoch: _, ...said }: CommitRequest): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(said)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

/** What a step has columns for; the rest stays in its report. */
function metricsOf(told: CommitRequest['metrics']): UpdateMetrics {
  const of = (name: keyof UpdateMetrics): number => told[name] ?? 0;
  return {
    ...{ loss: of('loss'), approx_kl: of('approx_kl'), behave_kl: of('behave_kl'), clip_fraction: of('clip_fraction') },
    ...{ capped_fraction: of('capped_fraction'), ess: of('ess'), entropy: of('entropy'), grad_norm: of('grad_norm') },
  };
}

/** The event of weights that the trainer names. */
export function policyOf({ architecture }: Pick<ExternalLife, 'architecture'>, told: WeightsOfCommit, version: number): UnpublishedPolicy {
  const { uri, sha256, format, bytes = 0, loadable = true, manifest = [] } = told;
  return {
    ...{ version, parent: version - 1, sha256, format, uri, bytes, loadable, manifest },
    ...{ weights: Buffer.alloc(0), optimizer: Buffer.alloc(0), optimizer_sha256: '' },
    architecture: format === architecture.format ? JSON.stringify(architecture) : '{}',
    backend: EXTERNAL,
  };
}
