// Describes the retention of the log for people.
import type { Config } from '../../config/descriptors.ts';

/** One line, from the configuration. */
export function keptText({ kafkaBrokers, keepLogHours, keepLogGb, keepRuns, retentionHours }: Config): string {
  if (kafkaBrokers.length > 0) return retentionHours < 0 ? 'everything' : `rollouts and tasks for ${retentionHours} h, the rest forever`;
  const bounds = [...(keepLogHours < 0 ? [] : [`for ${hoursText(keepLogHours)}`]), ...(keepLogGb < 0 ? [] : [`within ${keepLogGb} GB`])];
  if (bounds.length === 0 && retentionHours < 0) return 'everything';
  const named = keepRuns.length === 0 ? '' : `, always those of ${keepRuns.join(', ')}`;
  const all = retentionHours < 0 ? '' : `; all of them for ${hoursText(retentionHours)} at most`;
  const finished = bounds.length === 0 ? 'forever' : bounds.join(' and ');
  return `rollouts of unfinished runs, of finished ones ${finished}${named}${all}; ledgers, policies and tables forever`;
}

const hoursText = (hours: number): string => (hours % 24 === 0 ? `${hours / 24} days` : `${hours} h`);
