// Repeats updates. Each starts from the checkpoint that the previous step published, verified by its hash, with the hyperparameters that
// the run recorded. REINFORCE depends on earlier batches of the same process, so its updates are repeated in order from the first step of
// that process.
import type { PolicyPublished } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { Architecture, Checkpoint, Learner } from '../../streams/core/learning.ts';
import { runEvents, type RunSource } from '../../streams/core/read-log.ts';
import { trainingBatch } from './batches.ts';
import { checkpointOf, sha256Of, type WeightsStore } from './checkpoints.ts';
import type { PreparedBatch } from './commit-parts.ts';
import { recordedLearner } from './learner-record.ts';
import { compareValues, together, updateOf, type ReplayComparison } from './replay-compare.ts';
import type { LedgerStep, Survey } from './replay-ledger.ts';

export type OpenLearner = (wanted: {
  readonly architecture: Architecture;
  readonly backend: string;
  readonly step: number;
}) => Promise<Learner>;

export interface Retrained extends ReplayComparison {
  /** The backend of the repeated update, and of the original one. */
  readonly backend: string;
  readonly recordedBackend: string;
  /** Largest difference between two weights; 0 when all are equal. */
  readonly largestDifference: number;
}

export interface Retrainer {
  /** The step to start at, so that step `first` can be repeated. */
  beginsAt(first: number): number;
  /** Loads the policies of steps `first`..`last`; windows come in order. */
  load(first: number, last: number): Promise<void>;
  again(step: LedgerStep, batch: PreparedBatch): Promise<Retrained>;
  close(): Promise<void>;
}

export interface RetrainerOptions {
  readonly source: RunSource;
  readonly survey: Survey;
  readonly weights: WeightsStore;
  readonly open: OpenLearner;
}

export function createRetrainer(options: RetrainerOptions): Retrainer {
  const { source, survey, weights } = options;
  const { started, steps } = survey;
  const { parameters } = recordedLearner(started);
  const remembers = (parameters?.['algorithm'] ?? started.algorithm) === 'reinforce';
  const tape = createPolicyTape(source);
  const learners = createLearners(options);
  /** The step that the learner made last; -1 for a new learner. */
  let reached = -1;

  const producerOf = (step: number): string | undefined => steps[step - 1]?.producer;

  function published(version: number): Promise<Checkpoint> {
    const mark = steps[version - 1];
    const hashes = { weightsSha256: mark?.weightsSha256 ?? started.weights_sha256, optimizerSha256: mark?.optimizerSha256 ?? '' };
    return checkpointOf(tape.policy(version), { runId: source.runId, version, ...hashes }, weights);
  }

  return {
    beginsAt(first) {
      let begin = first;
      while (remembers && begin > 1 && producerOf(begin - 1) === producerOf(first)) begin -= 1;
      return begin;
    },
    load: (first, last) => tape.load(first - 1, last),
    async again({ event }, batch) {
      const recordedBackend = tape.policy(event.step)?.backend ?? started.backend;
      const { learner, isNew } = await learners.on(recordedBackend, event.step);
      const goesOn = remembers && !isNew && reached === event.step - 1 && producerOf(reached) === event.producer;
      if (!goesOn) await learner.restore(await published(event.step - 1), parameters);
      const made = await learner.train(trainingBatch(batch, event.step));
      reached = event.step;
      const hashes = { weights_sha256: sha256Of(made.weights), optimizer_sha256: sha256Of(made.optimizer) };
      const parts = [compareValues({ ...event }, hashes)];
      if (learner.backend === recordedBackend) parts.push(compareValues({ ...updateOf(event.metrics) }, { ...made.metrics }));
      const apart = hashes.weights_sha256 === event.weights_sha256 ? 0 : largestOf(made.weights, (await published(event.step)).weights);
      return { ...together(parts), backend: learner.backend, recordedBackend, largestDifference: apart };
    },
    close: () => learners.close(),
  };
}

/** Reads the policies of consecutive version windows in one pass over the topic. */
function createPolicyTape(source: RunSource) {
  let policies = new Map<number, PolicyPublished>();
  let from: ReadonlyMap<number, number> = new Map();
  return {
    policy: (version: number): PolicyPublished | undefined => policies.get(version),
    async load(first: number, last: number): Promise<void> {
      policies = new Map([...policies].filter(([version]) => version === first));
      for await (const read of runEvents(source, 'policies', { from })) {
        if (!read.ok || read.value.type !== 'PolicyPublished') continue;
        const { event } = read.value;
        if (event.version < first || event.version > last) continue;
        policies.set(event.version, event);
        from = new Map([[read.record.partition, read.record.offset]]);
        if (event.version === last) break;
      }
    },
  };
}

/** Keeps one learner at a time, on the requested backend. */
function createLearners({ source, survey, open }: RetrainerOptions) {
  const { architecture } = recordedLearner(survey.started);
  let current: { readonly learner: Learner; readonly backend: string } | undefined;
  async function close(): Promise<void> {
    await current?.learner.close();
    current = undefined;
  }
  return {
    close,
    async on(backend: string, step: number): Promise<{ readonly learner: Learner; readonly isNew: boolean }> {
      if (current?.backend === backend) return { learner: current.learner, isNew: false };
      await close();
      if (architecture === undefined) {
        throw new PlatformError(
          'RUN_CONFLICT',
          `repeating step ${step} of run ${source.runId}: the run does not say what network it trains`,
        );
      }
      const learner = await open({ architecture, backend, step });
      current = { learner, backend };
      return { learner, isNew: true };
    },
  };
}

/** Weights are float32, little-endian; the difference is infinite if the lengths differ. */
function largestOf(a: Buffer, b: Buffer): number {
  if (a.length !== b.length) return Infinity;
  let largest = 0;
  for (let at = 0; at + 4 <= a.length; at += 4) largest = Math.max(largest, Math.abs(a.readFloatLE(at) - b.readFloatLE(at)));
  return largest;
}
