// Verifies the ledger of one run from its first entry: the chain, the versions, that no trajectory is trained or
// discarded twice, and that every step's weights were published with the hash that the step names.
import type { EventByType } from '../../schemas/generated/events.ts';
import { createOutcomes } from './outcomes.ts';
import { advance, emptyChain, type ChainHead, type LedgerEntry } from './chain.ts';

export interface LedgerProblem {
  /** Offset in the training topic, -1 when the problem is not at one entry. */
  readonly offset: number;
  readonly problem: string;
}

export interface LedgerReport {
  readonly ok: boolean;
  readonly entries: number;
  readonly steps: number;
  readonly version: number;
  /** Trajectories. */
  readonly trained: number;
  /** Trajectories that were discarded; discards of other attempts of a trained trajectory are none. */
  readonly discarded: number;
  readonly finished: boolean;
  readonly headSha256: string;
  readonly problems: readonly LedgerProblem[];
}

export interface LedgerVerifier {
  /** Entries in the order of the log; `body` is the Avro body. */
  entry(entry: LedgerEntry, body: Buffer, offset: number): void;
  /**
   * Published policies, in any order; `sha256` is what was computed from the weights, not what the event claims. One that was
   * found after the entries were read, of a run that goes on, may be newer than they.
   */
  policy(event: EventByType['PolicyPublished'], sha256: string, found?: 'before entries' | 'after entries'): void;
  report(): LedgerReport;
}

export function createLedgerVerifier(): LedgerVerifier {
  const problems: LedgerProblem[] = [];
  const outcomes = createOutcomes();
  const stepWeights = new Map<number, string>();
  const policies = new Map<number, string>();
  const mayBeNewer = new Set<number>();
  let head: ChainHead = emptyChain;
  let [step, finished] = [0, false];

  const blame = (offset: number, problem: string): void => void problems.push({ offset, problem });

  function checkChain(entry: LedgerEntry, offset: number): void {
    const { sequence, previous_sha256: previous } = entry.event;
    if (sequence !== head.sequence)
      blame(offset, `entry has sequence ${sequence}, expected ${head.sequence}: an entry is missing or repeated`);
    if (previous !== head.previousSha256)
      blame(offset, `entry ${sequence} names ${previous.slice(0, 12)}… before it, the log has ${head.previousSha256.slice(0, 12)}…`);
    if ((entry.type === 'RunStarted') !== (sequence === 0))
      blame(offset, `entry ${sequence} is ${entry.type}; RunStarted is the first entry and no other`);
    if (finished) blame(offset, `entry ${sequence} comes after the end of the run`);
  }

  function checkStep(event: EventByType['StepCompleted'], offset: number): void {
    if (event.step !== step + 1) blame(offset, `step ${event.step} follows step ${step}`);
    if (event.version_after !== event.version_before + 1 || event.version_after !== event.step) {
      blame(offset, `step ${event.step} makes version ${event.version_after} out of ${event.version_before}`);
    }
    step = event.step;
    stepWeights.set(event.version_after, event.weights_sha256);
    for (const { trajectory_id: id, attempt } of event.trajectories) {
      for (const problem of outcomes.trained(id, attempt)) blame(offset, `${problem} in step ${event.step}`);
    }
  }

  return {
    entry(entry, body, offset) {
      checkChain(entry, offset);
      head = { ...advance(head, body), sequence: entry.event.sequence + 1 };
      if (entry.type === 'RunStarted') stepWeights.set(0, entry.event.weights_sha256);
      if (entry.type === 'StepCompleted') checkStep(entry.event, offset);
      if (entry.type === 'TrajectoryDiscarded') for (const problem of outcomes.discarded(entry.event)) blame(offset, problem);
      if (entry.type === 'RunFinished') finished = true;
    },
    policy(event, sha256, found = 'before entries') {
      if (event.sha256 !== sha256)
        blame(-1, `version ${event.version} claims weights ${event.sha256.slice(0, 12)}…, they hash to ${sha256.slice(0, 12)}…`);
      policies.set(event.version, sha256);
      if (found === 'after entries') mayBeNewer.add(event.version);
    },
    report() {
      const { trained, discarded, problems: left } = outcomes.report();
      const all = [
        ...problems,
        ...left.map((problem) => ({ offset: -1, problem })),
        ...comparePolicies({ made: stepWeights, published: policies, mayBeNewer }),
      ];
      const counts = { entries: head.sequence, steps: step, version: step, trained, discarded };
      return { ok: all.length === 0, ...counts, finished, headSha256: head.previousSha256, problems: all };
    },
  };
}

interface Versions {
  /** Hashes of the weights that the ledger names, by version. */
  readonly made: ReadonlyMap<number, string>;
  readonly published: ReadonlyMap<number, string>;
  readonly mayBeNewer: ReadonlySet<number>;
}

function comparePolicies({ made, published, mayBeNewer }: Versions): readonly LedgerProblem[] {
  const missing = [...made].flatMap(([version, sha256]) => {
    const found = published.get(version);
    if (found === undefined) return [`version ${version} of the ledger was never published`];
    return found === sha256
      ? []
      : [`version ${version} was published with weights ${found.slice(0, 12)}…, the ledger names ${sha256.slice(0, 12)}…`];
  });
  const unmade = [...published.keys()]
    .filter((version) => !made.has(version) && !mayBeNewer.has(version))
    .map((version) => `version ${version} was published but no ledger entry made it: the end of the ledger is missing`);
  return [...missing, ...unmade].map((problem) => ({ offset: -1, problem }));
}
