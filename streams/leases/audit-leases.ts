// Checks that the lease entries of a run are consistent: epochs increase by one, leases follow the order of their steps, and each step
// commits the first open lease, with its trajectories and hash, on top of the previous commit. Together with the check of outcomes, this
// detects a trajectory that was trained twice along the chain of versions.
import type {
  BatchLeased,
  BatchReleased,
  RunRewound,
  StepCompleted,
  TrainerClaimed,
  WeightsNamed,
} from '../../schemas/generated/events.ts';
import type { LedgerEntry } from '../ledger/chain.ts';
import { commitsAfter, foldLeases, newLeaseBook, type LeaseBook } from './lease-book.ts';

export interface LeaseAudit {
  /** Folds an entry, whose body has the hash `lineage`. Returns the problems found. */
  take(entry: LedgerEntry, lineage: string): readonly string[];
}

export function createLeaseAudit(): LeaseAudit {
  const book = newLeaseBook();
  return {
    take(entry, lineage) {
      const problems = problemsOf(book, entry);
      foldLeases(book, entry, lineage);
      return problems;
    },
  };
}

function problemsOf(book: LeaseBook, { type, event }: LedgerEntry): readonly string[] {
  switch (type) {
    case 'TrainerClaimed':
      return claimProblems(book, event);
    case 'BatchLeased':
      return leaseProblems(book, event);
    case 'BatchReleased':
      return releaseProblems(book, event);
    case 'StepCompleted':
      return event.batch_id === '' ? [] : commitProblems(book, event);
    case 'RunRewound':
      return rewindProblems(book, event);
    case 'WeightsNamed':
      return weightsProblems(book, event);
    default:
      return [];
  }
}

type LeaseRule = readonly [wrong: boolean, problem: string];
const brokenOf = (rules: readonly LeaseRule[]): readonly string[] => rules.flatMap(([wrong, problem]) => (wrong ? [problem] : []));

const claimProblems = (book: LeaseBook, { epoch, prepared }: TrainerClaimed): readonly string[] =>
  brokenOf([
    [epoch !== book.epoch + 1, `epoch ${epoch} follows epoch ${book.epoch}`],
    [book.out.some(({ batch_id: id }) => id !== prepared), `epoch ${epoch} begins while leases of the previous epoch are open`],
  ]);

function leaseProblems(book: LeaseBook, lease: BatchLeased): readonly string[] {
  const { batch_id: id, step, epoch, version_before: version } = lease;
  const next = (book.commits.at(-1)?.version ?? 0) + book.out.length + 1;
  const busy = new Set(book.out.flatMap(({ group_ids: ids }) => ids));
  return brokenOf([
    [epoch !== book.epoch, `${id} is leased under epoch ${epoch}, the newest is ${book.epoch}`],
    [step !== next || version !== step - 1, `${id} is leased for step ${step} from version ${version}, the next step is ${next}`],
    ...lease.group_ids.map((group): LeaseRule => [busy.has(group), `group ${group} is leased a second time in ${id}`]),
  ]);
}

const releaseProblems = (book: LeaseBook, { batch_id: id }: BatchReleased): readonly string[] =>
  brokenOf([[!book.out.some((lease) => lease.batch_id === id), `${id} is released but was not leased`]]);

function commitProblems(book: LeaseBook, step: StepCompleted): readonly string[] {
  const id = step.batch_id;
  const [lease] = book.out;
  const lineage = book.commits.at(-1)?.lineage ?? '';
  if (lease?.batch_id !== id) return [`step ${step.step} commits ${id}, which is not the first leased batch`];
  const names = (all: readonly { readonly trajectory_id: string; readonly attempt: number }[]): string =>
    all.map(({ trajectory_id: one, attempt }) => `${one}/${attempt}`).join(' ');
  return brokenOf([
    [step.step !== lease.step || step.version_before !== lease.version_before, `step ${step.step} commits ${id}, leased for ${lease.step}`],
    [step.batch_sha256 !== lease.batch_sha256, `step ${step.step} trained on other rows than those of ${id}`],
    [
      step.trained_rows < 0 || step.trained_rows > lease.rows,
      `step ${step.step} trained on ${step.trained_rows} rows, but ${id} has ${lease.rows}`,
    ],
    [names(step.trajectories) !== names(lease.trajectories), `step ${step.step} trained on other trajectories than those of ${id}`],
    [step.lineage !== lineage, `step ${step.step} does not follow the previous commit`],
  ]);
}

function rewindProblems(book: LeaseBook, rewound: RunRewound): readonly string[] {
  const { version, to_version: to, epoch } = rewound;
  const newest = book.commits.at(-1)?.version ?? 0;
  const parent = book.commits.find((commit) => commit.version === to && !commit.isAbandoned);
  const behind = commitsAfter(book, to);
  const trained = behind.reduce((sum, { trajectories }) => sum + trajectories, 0);
  return brokenOf([
    [version !== newest + 1, `version ${version} rewinds to version ${to}, but the newest is ${newest}`],
    [parent === undefined, `version ${version} rewinds to version ${to}, which the newest is not based on`],
    [epoch !== book.epoch || book.out.length > 0, `version ${version} rewinds under epoch ${epoch}, not right after a claim`],
    [parent !== undefined && rewound.weights_sha256 !== parent.weightsSha256, `version ${version} has other weights than version ${to}`],
    [
      behind.map((commit) => commit.version).join() !== rewound.abandoned.join() || trained !== rewound.trajectories,
      `version ${version} abandons other steps than those after version ${to}`,
    ],
  ]);
}

function weightsProblems(book: LeaseBook, { version, sha256 }: WeightsNamed): readonly string[] {
  const commit = book.commits.find((one) => one.version === version);
  return brokenOf([
    [commit === undefined, `weights of version ${version} are published, but no entry made that version`],
    [
      commit !== undefined && commit.weightsSha256 !== '' && commit.weightsSha256 !== sha256,
      `version ${version} is published with other weights`,
    ],
  ]);
}
