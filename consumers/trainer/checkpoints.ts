// Publishes policies and restores them. A checkpoint is used only if its bytes have the hash in the ledger.
import { createHash } from 'node:crypto';
import type { PolicyPublished } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Architecture, Checkpoint } from '../../streams/core/learning.ts';
import type { EventReader, LogReader } from '../../streams/core/ports.ts';
import { runEvents } from '../../streams/core/read-log.ts';
import type { RunState } from '../../streams/run/run-state.ts';
import type { UnpublishedPolicy } from './commit-parts.ts';

/** Storage for weights that do not fit into a record. */
export interface WeightsStore {
  /** Returns the URI from which `get` reads the bytes. */
  put(sha256: string, bytes: Buffer): Promise<string>;
  get(uri: string): Promise<Buffer>;
}

const INLINE_BYTES = 900_000;
const TAIL_RECORDS = 500;

export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The event that publishes a version. Large weights are stored elsewhere. Weights and optimizer state share the size limit of a record. */
export async function policyFields(
  made: { readonly version: number; readonly checkpoint: Checkpoint; readonly architecture: Architecture; readonly backend: string },
  store: WeightsStore,
): Promise<UnpublishedPolicy> {
  const { version, checkpoint, architecture, backend } = made;
  const [sha256, optimizerSha256] = [sha256Of(checkpoint.weights), sha256Of(checkpoint.optimizer)];
  const inline = checkpoint.weights.length + checkpoint.optimizer.length <= INLINE_BYTES;
  const uri = inline ? '' : await store.put(sha256, checkpoint.weights);
  if (!inline) await store.put(optimizerSha256, checkpoint.optimizer);
  return {
    version,
    parent: version - 1,
    sha256,
    format: architecture.format,
    weights: inline ? checkpoint.weights : Buffer.alloc(0),
    uri,
    optimizer: inline ? checkpoint.optimizer : Buffer.alloc(0),
    optimizer_sha256: optimizerSha256,
    architecture: JSON.stringify(architecture),
    backend,
    ...{ bytes: checkpoint.weights.length, manifest: [], loadable: true },
  };
}

export interface CheckpointDeps {
  readonly log: LogReader;
  readonly events: EventReader;
  readonly weights: WeightsStore;
}

/** A version and its hashes in the ledger. */
export type NamedVersion = Pick<RunState, 'runId' | 'version' | 'weightsSha256' | 'optimizerSha256'>;

/**
 * Reads the checkpoint of the newest version of a run. The run published nothing before the offset `from`. Throws WEIGHTS_MISMATCH if the
 * checkpoint is missing or does not have the hash in the ledger.
 */
export async function restoreCheckpoint(deps: CheckpointDeps, state: NamedVersion, from = 0): Promise<Checkpoint> {
  return checkpointOf(await findPolicy(deps, state, from), state, deps.weights);
}

/** Reads the checkpoint of a policy, and checks it against the hashes in the ledger. */
export async function checkpointOf(event: PolicyPublished | undefined, state: NamedVersion, store: WeightsStore): Promise<Checkpoint> {
  const doing = `restoring version ${state.version} of run ${state.runId}`;
  if (event === undefined) throw new PlatformError('WEIGHTS_MISMATCH', `${doing}: it was never published on policies`);
  const inline = event.uri === '';
  const weights = inline ? event.weights : await store.get(event.uri);
  const optimizer = inline ? event.optimizer : await store.get(event.uri.replace(event.sha256, event.optimizer_sha256));
  const wanted = [state.weightsSha256, state.optimizerSha256 === '' ? sha256Of(Buffer.alloc(0)) : state.optimizerSha256];
  const found = [sha256Of(weights), sha256Of(optimizer)];
  if (found[0] !== wanted[0] || found[1] !== wanted[1]) {
    throw new PlatformError(
      'WEIGHTS_MISMATCH',
      `${doing}: the published bytes hash to ${found.join(' and ')}, the ledger names ${wanted.join(' and ')}`,
    );
  }
  return { weights: Buffer.from(weights), optimizer: Buffer.from(optimizer) };
}

/** The last publication of a version. */
export async function findPolicy(
  deps: Omit<CheckpointDeps, 'weights'>,
  state: Pick<NamedVersion, 'runId' | 'version'>,
  start: number,
): Promise<PolicyPublished | undefined> {
  const bounds = await deps.log.bounds('policies');
  const tail = new Map(bounds.map(({ partition, first, end }) => [partition, Math.max(first, start, end - TAIL_RECORDS)]));
  return (await scan(deps, state, tail)) ?? (await scan(deps, state, new Map([[0, start]])));
}

async function scan(
  deps: Omit<CheckpointDeps, 'weights'>,
  state: Pick<NamedVersion, 'runId' | 'version'>,
  from: ReadonlyMap<number, number>,
): Promise<PolicyPublished | undefined> {
  let found: PolicyPublished | undefined;
  for await (const read of runEvents({ ...deps, runId: state.runId }, 'policies', { from })) {
    if (read.ok && read.value.type === 'PolicyPublished' && read.value.event.version === state.version) found = read.value.event;
  }
  return found;
}
