// Verifies the ledger of one run from its first entry: the hash chain and the versions are unbroken; every admitted trajectory is trained,
// collected, discarded, or still open, and counted once; and the weights of every step were published with the hash that the step names.
import type { EventByType } from '../../schemas/generated/events.ts';
import { createOutcomes, type TrajectoryOutcomes } from '../ledger/outcomes.ts';
import { createLeaseAudit } from '../leases/audit-leases.ts';
import { advance, emptyChain, entryHash, type ChainHead, type LedgerEntry } from '../ledger/chain.ts';

interface LedgerProblem {
  /** Offset in the training topic, -1 when the problem is not at one entry. */
  readonly offset: number;
  readonly problem: string;
}

export interface LedgerReport {
  readonly ok: boolean;
  readonly entries: number;
  readonly steps: number;
  /** Batches that were collected without a step. */
  readonly batches: number;
  readonly version: number;
  /** Trajectories: admitted = trained + collected + discarded + open. */
  readonly admitted: number;
  readonly trained: number;
  readonly collected: number;
  /** Discarded trajectories. A discard of another attempt of a trained trajectory does not count. */
  readonly discarded: number;
  /** Trajectories of groups from which no trajectory was trained, collected, or discarded yet. */
  readonly open: number;
  /** False while the run continues, or after it was extended. */
  readonly finished: boolean;
  /** How often the run was continued after its end. */
  readonly continued: number;
  /** What the ledger does not say, because an older version wrote it. */
  readonly notes: readonly string[];
  readonly headSha256: string;
  readonly problems: readonly LedgerProblem[];
}

export interface LedgerVerifier {
  /** Entries in the order of the log; `body` is the Avro body. */
  entry(entry: LedgerEntry, body: Buffer, offset: number): void;
  /**
   * Published policies, in any order. `sha256` is computed from the weights; for an external trainer, it is what the event claims. While a
   * run continues, a policy that is read after the entries may be newer than the last entry.
   */
  policy(event: EventByType['PolicyPublished'], sha256: string, found?: 'before entries' | 'after entries'): void;
  report(): LedgerReport;
}

/** The steps, batches, and trajectories that the entries record. */
function createBook() {
  const outcomes = createOutcomes();
  const leases = createLeaseAudit();
  let [step, batch, steps] = [0, 0, 0];
  return {
    /** Notes an entry; returns the problems found. */
    take(entry: LedgerEntry, lineage: string): readonly string[] {
      return [...leases.take(entry, lineage), ...this.takeOutcome(entry)];
    },
    takeOutcome(entry: LedgerEntry): readonly string[] {
      switch (entry.type) {
        case 'StepCompleted': {
          const problems = stepProblems(entry.event, step, outcomes);
          step = entry.event.step;
          steps += 1;
          return problems;
        }
        case 'RunRewound': {
          const { version, to_version: to, trajectories } = entry.event;
          step = version;
          const found = outcomes.rewound(to);
          return found === trajectories
            ? []
            : [`version ${version} discards ${trajectories} trajectories, the steps that it abandons trained ${found}`];
        }
        case 'BatchCollected': {
          const problems = batchProblems(entry.event, batch, outcomes);
          batch = entry.event.batch;
          return problems;
        }
        case 'TrajectoryDiscarded':
          return outcomes.discarded(entry.event);
        case 'GroupsAdmitted':
          return outcomes.admitted(entry.event.groups);
        default:
          return [];
      }
    },
    made: () => ({ steps, batches: batch, version: step }),
    totals: () => outcomes.report(),
  };
}

export function createLedgerVerifier(): LedgerVerifier {
  const problems: LedgerProblem[] = [];
  const book = createBook();
  const made = new Map<number, MadeVersion>();
  const published = new Map<number, MadeVersion>();
  const mayBeNewer = new Set<number>();
  let head: ChainHead = emptyChain;
  let finished: EventByType['RunFinished'] | undefined;
  let continued = 0;

  const blame = (offset: number, problem: string): void => void problems.push({ offset, problem });

  /** The end of a run summarizes everything before it. A continued run has several. */
  function finish(event: EventByType['RunFinished']): void {
    finished = event;
    for (const problem of compareTotals(event, book.totals())) blame(-1, problem);
  }

  return {
    entry(entry, body, offset) {
      const wrong = [...chainProblems(entry, head, finished !== undefined), ...book.take(entry, entryHash(body))];
      for (const problem of wrong) blame(offset, problem);
      head = { ...advance(head, body), sequence: entry.event.sequence + 1 };
      noteVersion(made, entry);
      if (entry.type === 'RunFinished') finish(entry.event);
      if (entry.type === 'RunContinued') {
        finished = undefined;
        continued += 1;
      }
    },
    policy(event, sha256, found = 'before entries') {
      if (event.sha256 !== sha256)
        blame(-1, `version ${event.version} claims weights ${event.sha256.slice(0, 12)}…, they hash to ${sha256.slice(0, 12)}…`);
      published.set(event.version, { sha256, parent: event.parent });
      if (found === 'after entries') mayBeNewer.add(event.version);
    },
    report() {
      const { problems: left, ...totals } = book.totals();
      const all = [...problems, ...left.map((problem) => ({ offset: -1, problem })), ...comparePolicies({ made, published, mayBeNewer })];
      const notes = finished?.open === NOT_TOLD && totals.open > 0 ? [`${totals.open} ${UNEXPLAINED}`] : [];
      return {
        ok: all.length === 0,
        ...{ entries: head.sequence, ...book.made(), ...totals },
        finished: finished !== undefined,
        continued,
        headSha256: head.previousSha256,
        problems: all,
        notes,
      };
    },
  };
}

/** Notes what a step trained on; returns the problems found, given the previous step `last`. */
function stepProblems(event: EventByType['StepCompleted'], last: number, outcomes: TrajectoryOutcomes): readonly string[] {
  const { step, version_before: before, version_after: after } = event;
  const trained = event.trajectories.flatMap((one) => outcomes.kept('trained', one, step));
  const { open_groups: held } = event.resume;
  const open = outcomes.openGroups();
  return [
    ...(step === last + 1 ? [] : [`step ${step} follows step ${last}`]),
    ...(after === before + 1 && after === step ? [] : [`step ${step} makes version ${after} out of ${before}`]),
    ...trained.map((problem) => `${problem} in step ${step}`),
    ...(held < 0 || held === open
      ? []
      : [`the trainer held ${held} open groups after step ${step}, the ledger has ${open} that are neither trained nor discarded`]),
  ];
}

/** Notes what a batch collected; returns the problems found, given the previous batch `last`. */
function batchProblems(event: EventByType['BatchCollected'], last: number, outcomes: TrajectoryOutcomes): readonly string[] {
  const { batch, resume } = event;
  const collected = event.trajectories.flatMap((one) => outcomes.kept('collected', one));
  const open = outcomes.openGroups();
  return [
    ...(batch === last + 1 ? [] : [`batch ${batch} follows batch ${last}`]),
    ...collected.map((problem) => `${problem} in batch ${batch}`),
    ...(resume.open_groups === open
      ? []
      : [`the trainer held ${resume.open_groups} open groups after batch ${batch}, the ledger has ${open} that are still open`]),
  ];
}

/** What is wrong with the place of an entry in the chain. */
function chainProblems(entry: LedgerEntry, head: ChainHead, isOver: boolean): readonly string[] {
  const { sequence, previous_sha256: previous } = entry.event;
  const wrong: readonly (readonly [boolean, string])[] = [
    [sequence !== head.sequence, `entry has sequence ${sequence}, expected ${head.sequence}: an entry is missing or repeated`],
    [
      previous !== head.previousSha256,
      `entry ${sequence} names ${previous.slice(0, 12)}… before it, the log has ${head.previousSha256.slice(0, 12)}…`,
    ],
    [(entry.type === 'RunStarted') !== (sequence === 0), `entry ${sequence} is ${entry.type}; RunStarted is the first entry and no other`],
    // weights of the last version may come late
    [isOver && entry.type !== 'RunContinued' && entry.type !== 'WeightsNamed', `entry ${sequence} comes after the end of the run`],
    [!isOver && entry.type === 'RunContinued', `entry ${sequence} continues a run that had not ended`],
  ];
  return wrong.flatMap(([is, problem]) => (is ? [problem] : []));
}

const NOT_TOLD = -1;
const UNEXPLAINED =
  'trajectories were admitted and neither trained nor discarded when the run ended; the version that wrote its end did not say whether they were still open or lost';

/** Compares the totals in RunFinished with those of the entries; an older version recorded no totals. */
function compareTotals(
  end: EventByType['RunFinished'],
  found: Omit<ReturnType<TrajectoryOutcomes['report']>, 'problems'>,
): readonly string[] {
  if (end.open === NOT_TOLD) return [];
  return (['admitted', 'trained', 'collected', 'discarded', 'open'] as const)
    .filter((name) => end[name] !== found[name])
    .map((name) => `RunFinished counts ${end[name]} ${name} trajectories, the entries before it ${found[name]}`);
}

interface MadeVersion {
  /** Hash of its weights; empty until an entry names it. */
  readonly sha256: string;
  readonly parent: number;
}

/** Notes the version that an entry made. A run that is collected has none, and an external trainer may name weights later, or never. */
function noteVersion(made: Map<number, MadeVersion>, { type, event }: LedgerEntry): void {
  if (type === 'RunStarted' && event.weights_sha256 !== '') made.set(0, { sha256: event.weights_sha256, parent: -1 });
  if (type === 'StepCompleted') made.set(event.version_after, { sha256: event.weights_sha256, parent: event.version_before });
  if (type === 'RunRewound') made.set(event.version, { sha256: event.weights_sha256, parent: event.to_version });
  if (type === 'WeightsNamed') made.set(event.version, { sha256: event.sha256, parent: made.get(event.version)?.parent ?? -1 });
}

interface LedgerVersions {
  /** Versions that ledger entries made. */
  readonly made: ReadonlyMap<number, MadeVersion>;
  readonly published: ReadonlyMap<number, MadeVersion>;
  readonly mayBeNewer: ReadonlySet<number>;
}

function comparePolicies({ made, published, mayBeNewer }: LedgerVersions): readonly LedgerProblem[] {
  const wrong = [...made].flatMap(([version, { sha256, parent }]) => {
    const found = published.get(version);
    if (found === undefined) return sha256 === '' ? [] : [`version ${version} of the ledger was never published`];
    return [
      ...(sha256 === '' || found.sha256 === sha256
        ? []
        : [`version ${version} was published with weights ${found.sha256.slice(0, 12)}…, the ledger names ${sha256.slice(0, 12)}…`]),
      ...(found.parent === parent
        ? []
        : [`version ${version} was published as a child of ${found.parent}, the ledger made it of ${parent}`]),
    ];
  });
  const unmade = [...published.keys()]
    .filter((version) => !made.has(version) && !mayBeNewer.has(version))
    .map((version) => `version ${version} was published but no ledger entry made it: the end of the ledger is missing`);
  return [...wrong, ...unmade].map((problem) => ({ offset: -1, problem }));
}
