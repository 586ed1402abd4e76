// The environment of a measurement, without which a figure means nothing.
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';

export interface Environment {
  readonly at: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly commit: string;
  /** Load average of the last minute before the bench: above the number of cores, figures are too low. */
  readonly loadBefore: number;
}

export function describeEnvironment(): Environment {
  const processors = cpus();
  return {
    at: new Date().toISOString(),
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    commit: commit(),
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(1)),
  };
}

function commit(): string {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  try {
    const dirty = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with local changes';
    return `${git('rev-parse', '--short=12', 'HEAD')}${dirty}`;
  } catch {
    return 'unknown';
  }
}
