import { createHash } from 'node:crypto';
import type { CommitRequest } from './coordinator.ts';

/** SHA-256 (hex) of a commit without its epoch, so that a trainer that claims the run again can repeat its commit under the new epoch. */
export function reportHash({ epoch: _, ...report }: CommitRequest): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(report)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
