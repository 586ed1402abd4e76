// Formats the progress of a rebuild: one line that is repainted in a terminal, otherwise lines at intervals.
import type { RebuildProgress, RebuildReport } from './rebuild.ts';
import { createRate, renderPace } from '../views/progress-rate.ts';

const WORDS: Readonly<Record<RebuildProgress['phase'], string>> = {
  waiting: 'waiting for running sinks to stop',
  emptying: 'removing the tables',
  storing: 'storing the log',
  auditing: 'comparing the log with the tables',
};

/** Formats progress reports as lines. */
export function createRebuildLines(): (progress: RebuildProgress, nowMs: number) => string {
  let phase = '';
  let rate = createRate();
  return (progress, nowMs) => {
    if (progress.phase !== phase) rate = createRate();
    phase = progress.phase;
    return lineOf(progress, rate(progress.done, nowMs));
  };
}

function lineOf({ phase, done, of, detail }: RebuildProgress, rate: number): string {
  const words = WORDS[phase];
  const about = detail === '' ? '' : `, ${detail.replace(/\s+/g, ' ')}`;
  if (phase === 'waiting' || phase === 'emptying') return `${words}${about}`;
  return `${words}: ${renderPace({ done, of }, rate)}${about}`;
}

/** The last line: what was done, and whether the log and the tables agree. */
export function renderRebuild({ complete, records, storeSeconds, auditSeconds, audit }: RebuildReport): string {
  const pace = Math.round(records / Math.max(storeSeconds, 0.001));
  const stored = `${records} records stored in ${storeSeconds.toFixed(1)} s (${pace}/s)`;
  if (!complete || audit === undefined) return `stopped: ${stored}; start a sink to continue from here, or run the rebuild again\n`;
  const verdict = audit.ok ? 'OK' : 'FAILED';
  return `${verdict}: ${stored}, ${audit.records} compared in ${auditSeconds.toFixed(1)} s, ${audit.deadLetters} dead letters\n`;
}
