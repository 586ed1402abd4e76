// Remembers statements that ended the store, for a while, and rejects them, so that repeating one cannot block writers. Kept in a file,
// because the process that ran the statement is gone.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { ClickHouseFailure } from '../clickhouse-error.ts';
import { shapeOf } from './shape.ts';

export interface Offenders {
  /** Adds these shapes, in memory and on disk. */
  add(shapes: readonly string[]): void;
  /** Throws QUERY_WAS_CANCELLED for a statement whose shape ended the store. */
  refuse(sql: string): void;
}

interface Offence {
  readonly hash: string;
  readonly atMs: number;
}

const REMEMBER_MS = 10 * 60_000;
const MAX_OFFENCES = 100;

const hashOf = (shape: string): string => createHash('sha256').update(shape.toLowerCase()).digest('hex');

/** Reads the file. `now` is wall-clock time, ms. */
export function openOffenders(path: string, now: () => number = Date.now): Offenders {
  let offences = read(path);
  const current = (): readonly Offence[] => {
    if (offences.length === 0) return offences;
    const at = now();
    return (offences = offences.filter(({ atMs }) => atMs <= at && atMs > at - REMEMBER_MS));
  };
  return {
    add(shapes) {
      if (shapes.length === 0) return;
      offences = [...current(), ...shapes.map((shape) => ({ hash: hashOf(shape), atMs: now() }))].slice(-MAX_OFFENCES);
      try {
        writeFileSync(path, JSON.stringify(offences));
      } catch {
        // A full disk must not prevent the store from ending.
      }
    },
    refuse(sql) {
      if (current().length === 0) return;
      const hash = hashOf(shapeOf(sql));
      const known = offences.find((offence) => offence.hash === hash);
      if (known === undefined) return;
      const minutes = Math.ceil((known.atMs + REMEMBER_MS - now()) / 60_000);
      throw new ClickHouseFailure(
        394,
        'QUERY_WAS_CANCELLED',
        `A statement of this form ended the store and is refused for ${minutes} more min: bound the arguments of its functions`,
      );
    },
  };
}

function read(path: string): readonly Offence[] {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as unknown;
    return Array.isArray(found) ? found.filter(isOffence) : [];
  } catch {
    return [];
  }
}

const isOffence = (value: unknown): value is Offence =>
  typeof value === 'object' &&
  value !== null &&
  'hash' in value &&
  typeof value.hash === 'string' &&
  'atMs' in value &&
  typeof value.atMs === 'number';
