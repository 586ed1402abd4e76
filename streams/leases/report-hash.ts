import { createHash } from 'node:crypto';
import type { CommitRequest } from './coordinator.ts';

/** SHA-256 (hex) of everything but the epoch: a trainer that claims the run again repeats its commit in the same words. */
export function reportHash({ epoch: _, ...said }: CommitRequest): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(said)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
