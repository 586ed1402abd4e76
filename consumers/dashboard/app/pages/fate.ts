// The stages of a sample, from the fields of the API: requested, started, finished, and then trained on or discarded.
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

/** The stages of one attempt in order; the last one is the current one. */
export function fateOf(report: ApiTrajectoryReport, attempt: number): readonly FateStep[] {
  const one = report.attempts.find((each) => each.attempt === attempt);
  if (one === undefined) return [];
  const result = one.result;
  const stations: FateStep[] = [
    {
      name: 'asked for',
      state: one.requested_at === null ? 'open' : 'done',
      at: one.requested_at,
      note: one.requested_at === null ? 'not recorded' : '',
    },
    { name: 'started', state: one.started_at === null ? 'open' : 'done', at: one.started_at, note: one.worker_id },
  ];
  if (result !== null) {
    stations.push({
      name: result.status === '' ? 'finished' : result.status,
      state: ['failed', 'timeout', 'refused'].includes(result.status) ? 'bad' : 'done',
      at: result.finished_at,
      note: `reward ${figure(result.reward)}`,
    });
  } else if (one.expired_reason !== '') stations.push({ name: 'given up', state: 'bad', at: null, note: one.expired_reason });
  return [...stations, ...endOf(report, attempt, result !== null)];
}

function endOf(report: ApiTrajectoryReport, attempt: number, isFinished: boolean): readonly FateStep[] {
  const trained = report.training.find((each) => each.attempt === attempt);
  if (trained !== undefined) {
    const note = `advantage ${figure(trained.advantage)}, staleness ${trained.staleness_total}, waited ${duration(trained.queue_ms)}`;
    return [{ name: `trained in step ${trained.step}`, state: 'done', at: trained.at, note, step: trained.step }];
  }
  const lost = report.discarded.find((each) => each.attempt === attempt);
  if (lost !== undefined) {
    const note = `at version ${lost.version}, staleness ${lost.staleness_total}`;
    return [{ name: `discarded: ${lost.reason.replaceAll('_', ' ')}`, state: 'bad', at: lost.at, note, step: lost.version + 1 }];
  }
  if (report.purpose !== 'train') return [{ name: 'never trained on', state: 'done', at: null, note: `its purpose is ${report.purpose}` }];
  return isFinished ? [{ name: 'not decided', state: 'open', at: null, note: 'no entry of the ledger names it yet' }] : [];
}
