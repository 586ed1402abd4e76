// Publishes the weights of a committed version after its commit, or at a new location. The ledger records their hash, so a version never
// has two different sets of weights.
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import type { PublishAnswer, PublishRequest } from '../../../streams/leases/coordinator.ts';
import { decidePublish } from '../../../streams/leases/decide.ts';
import type { CommittedVersion } from '../../../streams/leases/lease-book.ts';
import { findPolicy } from '../checkpoints.ts';
import type { PlainEntry } from '../committer.ts';
import type { Job } from '../deps.ts';
import { policyOf } from './commit.ts';
import { record, refusal } from './leases.ts';

export const publishJob =
  ({ version, epoch, ...weights }: PublishRequest): Job<PublishAnswer> =>
  async (life, loop) => {
    const { sha256, uri, format } = weights;
    const decision = decidePublish(life.state.leases, { epoch, version, sha256 });
    if (decision.kind === 'refused') return refusal(decision);
    const last = await findPolicy(life, { runId: life.runId, version }, life.start.policies);
    const policy = policyOf(life, weights, { version, parent: parentOf(decision.commit) });
    const replayed = last !== undefined && saidBy(last) === saidBy(policy);
    if (!replayed) {
      const entries: readonly PlainEntry[] = [{ type: 'WeightsNamed', fields: { version, sha256, uri, format } }];
      await record(life, loop, { step: 'coordinator.publish', entries, publication: { policy, again: true } });
      life.logger.info({ version, uri, sha256 }, 'the weights of a committed version were published');
    }
    return { kind: 'answer', value: { version, sha256, replayed } };
  };

type SaidWeights = Pick<PolicyPublished, 'sha256' | 'uri' | 'format' | 'bytes' | 'loadable' | 'manifest'>;

/** Everything that a trainer says about weights, as a text that can be compared. */
const saidBy = ({ sha256, uri, format, bytes, loadable, manifest }: SaidWeights): string =>
  JSON.stringify([sha256, uri, format, bytes, loadable, manifest.map((file) => [file.name, file.sha256])]);

const parentOf = ({ version, rewoundTo }: CommittedVersion): number => (rewoundTo < 0 ? version - 1 : rewoundTo);
