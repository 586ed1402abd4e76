// A cache of the folded state of a run, which a restart reads instead of folding the log again. Nothing else depends on it. It contains the
// positions at which it was taken and a hash of itself. A snapshot that is missing, damaged, of another run or format, or of a different
// ledger is ignored, and the run is folded again from its resume point.
import { createHash } from 'node:crypto';
import { deserialize, serialize } from 'node:v8';
import type { RunState } from '../../streams/run/run-state.ts';

/** Stores the newest snapshot of a run. */
export interface SnapshotStore {
  read(): Promise<Buffer | undefined>;
  write(bytes: Buffer): Promise<void>;
  /** Removes the snapshot of a finished run. */
  remove(): Promise<void>;
}

/** Increase this if the shape or the meaning of RunState changes; snapshot.test.ts detects a change of shape. */
const FORMAT = 9;
const HASH_BYTES = 32;

const hashOf = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

export function packSnapshot(state: RunState): Buffer {
  const body = serialize({ format: FORMAT, state });
  return Buffer.concat([hashOf(body), body]);
}

/** Returns undefined for a snapshot of another version or run. */
export function unpackSnapshot(bytes: Buffer, runId: string): RunState | undefined {
  const body = bytes.subarray(HASH_BYTES);
  if (!hashOf(body).equals(bytes.subarray(0, HASH_BYTES))) return undefined;
  try {
    const { format, state } = deserialize(body) as { format: number; state: RunState };
    return format === FORMAT && state.runId === runId ? state : undefined;
  } catch {
    return undefined;
  }
}
