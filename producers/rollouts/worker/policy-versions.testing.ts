// Shared by the tests of policy versions: versions in the memory log, and scorers that are counted.
import { createHash } from 'node:crypto';
import { afterEach } from 'vitest';
import type { PolicyPublished } from '../../../schemas/generated/events.ts';
import type { PolicyWeights, Scorer, ScorerFactory } from '../../../streams/core/learning.ts';
import { createRecordingLogger } from '../../../infra/testing/logger.ts';
import type { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { createPolicyVersions, type FollowedPolicyVersions, type PolicyVersionsOptions } from './policy-versions.ts';

const architecture = { format: 'mlp-f32-v1', inputs: 1, hidden: [] };

export function published(version: number, fields: Partial<PolicyPublished> = {}): PolicyPublished {
  const weights = fields.weights ?? Buffer.from(`weights of ${version}`);
  return {
    ...{ event_id: `run-a/policy/${version}`, run_id: 'run-a', occurred_at: 1, producer: 'trainer', version, parent: version - 1 },
    ...{ sha256: createHash('sha256').update(weights).digest('hex'), format: 'mlp-f32-v1', weights, uri: '' },
    ...{ bytes: 0, manifest: [], loadable: true, optimizer: Buffer.alloc(0), optimizer_sha256: '' },
    ...{ architecture: JSON.stringify(architecture), backend: 'cpu' },
    ...fields,
  };
}

export const publish = async (log: MemoryLog, events: readonly PolicyPublished[]): Promise<void> => {
  await log.writer().append(events.map((event) => ({ type: 'PolicyPublished', key: event.run_id, event })));
};

/** Scores with the version number, and remembers what is loaded. */
function countingFactory() {
  const loaded = new Set<Scorer>();
  let gate = Promise.resolve();
  const factory: ScorerFactory = {
    backend: 'cpu',
    load({ version, bytes }: PolicyWeights) {
      if (bytes.toString() !== `weights of ${version}`) throw new RangeError('weights of another size');
      const scorer: Scorer = {
        async score() {
          if (!loaded.has(scorer)) throw new Error('disposed of');
          await gate;
          if (!loaded.has(scorer)) throw new Error('disposed of while in use');
          return Float32Array.of(version);
        },
        dispose: () => loaded.delete(scorer),
      };
      loaded.add(scorer);
      return scorer;
    },
  };
  const hold = (): (() => void) => {
    let open: () => void = () => undefined;
    gate = new Promise((resolve) => (open = resolve));
    return open;
  };
  return { factory, loaded, hold };
}

const opened: FollowedPolicyVersions[] = [];

/** Call it at the top level of a test file. */
export function setUpPolicyVersions(): void {
  afterEach(async () => {
    for (const versions of opened.splice(0)) await versions.close();
  });
}

export function follow(log: MemoryLog, overrides: Partial<PolicyVersionsOptions> = {}) {
  const counting = countingFactory();
  const logger = createRecordingLogger();
  const failures: unknown[] = [];
  const versions = createPolicyVersions({
    runId: 'run-a',
    log: log.reader(),
    reader: codecReader(log.codec),
    factory: counting.factory,
    fetchWeights: () => Promise.reject(new Error('no weights elsewhere')),
    logger,
    onFailure: (error) => failures.push(error),
    ...overrides,
  });
  opened.push(versions);
  return { versions, logger, failures, ...counting };
}

export const never = new AbortController().signal;

export const scoreOf = async (versions: FollowedPolicyVersions, version: number): Promise<number> => {
  const { scorer } = await versions.scorer(version);
  return (await scorer.score(new Float32Array(1), 1))[0] ?? Number.NaN;
};
