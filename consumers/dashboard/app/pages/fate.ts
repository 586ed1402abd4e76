// The stages of a sample, from the fields of the API: requested, started, finished, and then trained on, collected, or discarded.
import { duration, figure } from '../kit/format.ts';
import type { ApiTrajectoryReport } from '../data/shapes.ts';

export interface FateStep {
  readonly name: string;
  readonly state: 'done' | 'bad' | 'open';
  readonly at: string | null;
  readonly note: string;
  /** The step that a stage links to. */
  readonly step?: number;
}

type Attempted = ApiTrajectoryReport['attempts'][number];

/** The attempt that counts: the one that was kept, else the first one with a result, else the first one. */
export const countedAttempt = ({ training, collected, attempts }: ApiTrajectoryReport): number =>
  (training[0] ?? collected[0] ?? attempts.find(({ result }) => result !== null) ?? attempts[0])?.attempt ?? 0;

/** The stages of one attempt in order; the last one is the current one. */
export function fateOf(report: ApiTrajectoryReport, attempt: number): readonly FateStep[] {
  const one = report.attempts.find((each) => each.attempt === attempt);
  if (one === undefined) return [];
  const asked: FateStep = {
    name: 'asked for',
    state: one.requested_at === null ? 'open' : 'done',
    at: one.requested_at,
    note: one.requested_at === null ? 'not recorded' : '',
  };
  const started: FateStep = { name: 'started', state: one.started_at === null ? 'open' : 'done', at: one.started_at, note: one.worker_id };
  return [asked, started, ...endingOf(one), ...decisionOf(report, one)];
}

/** How the attempt ended. The trainer may have given it up before it finished, or because of how it finished. */
function endingOf({ result, expired_reason, expired_at }: Attempted): readonly FateStep[] {
  const given: readonly FateStep[] =
    expired_reason === '' ? [] : [{ name: 'given up', state: 'bad', at: expired_at, note: expired_reason.replaceAll('_', ' ') }];
  if (result === null) return given;
  const finished: FateStep = {
    name: result.status === '' ? 'finished' : result.status,
    state: ['failed', 'timeout', 'refused'].includes(result.status) ? 'bad' : 'done',
    at: result.finished_at,
    note: `reward ${figure(result.reward)}`,
  };
  const isLate = Date.parse(expired_at ?? '') < Date.parse(result.finished_at ?? '');
  return isLate ? [...given, finished] : [finished, ...given];
}

function decisionOf(report: ApiTrajectoryReport, { attempt, result }: Attempted): readonly FateStep[] {
  const of = <T extends { readonly attempt: number }>(rows: readonly T[]): T | undefined => rows.find((row) => row.attempt === attempt);
  const trained = of(report.training);
  if (trained !== undefined) {
    const name = `trained in step ${trained.step}`;
    return [{ name, state: 'done', at: trained.at, note: accountOf(trained), step: trained.step }, ...rewindOf(of(report.rewound))];
  }
  const collected = of(report.collected);
  if (collected !== undefined) {
    return [{ name: `collected in batch ${collected.batch}`, state: 'done', at: collected.at, note: accountOf(collected) }];
  }
  const lost = of(report.discarded);
  if (lost !== undefined) {
    const note = `at version ${lost.version}, staleness ${lost.staleness_total}`;
    return [{ name: `discarded: ${lost.reason.replaceAll('_', ' ')}`, state: 'bad', at: lost.at, note, step: lost.version + 1 }];
  }
  if (report.purpose !== 'train') return [{ name: 'never trained on', state: 'done', at: null, note: `its purpose is ${report.purpose}` }];
  return result === null ? [] : [undecided(report)];
}

interface KeptAccount {
  readonly advantage: number | null;
  readonly staleness_total: number;
  readonly queue_ms: number;
}

const accountOf = ({ advantage, staleness_total: staleness, queue_ms: waited }: KeptAccount): string =>
  `advantage ${figure(advantage)}, staleness ${staleness}, waited ${duration(waited)}`;

/** An attempt whose step a rewind abandoned counts as discarded. */
function rewindOf(rewound: ApiTrajectoryReport['rewound'][number] | undefined): readonly FateStep[] {
  if (rewound === undefined) return [];
  const note = `version ${rewound.version} went back to version ${rewound.to_version}`;
  return [{ name: 'discarded: rewound', state: 'bad', at: rewound.at, note }];
}

/** A group closes as a whole: an entry about another attempt means that this one ended too late. */
function undecided({ training, collected, discarded }: ApiTrajectoryReport): FateStep {
  const isClosed = training.length + collected.length + discarded.length > 0;
  return isClosed
    ? { name: 'not counted', state: 'bad', at: null, note: 'it ended after its group had closed' }
    : { name: 'not decided', state: 'open', at: null, note: 'its group is still open' };
}
