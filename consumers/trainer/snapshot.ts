// The folded state of a run as a cache: what a restart would refold once more, it reads. Nothing depends on it. It holds the
// positions that it was taken at and a hash of itself; one that is missing, damaged, of another run, of another
// format or of a ledger that is not this one is left aside, and the run is refolded from its resume point.
import { createHash } from 'node:crypto';
import { deserialize, serialize } from 'node:v8';
import type { RunState } from '../../streams/run/run-state.ts';

/** Where the newest snapshot of a run is kept. */
export interface SnapshotStore {
  read(): Promise<Buffer | undefined>;
  write(bytes: Buffer): Promise<void>;
  /** For a run that is over. */
  remove(): Promise<void>;
}

/** To be raised when the shape or the meaning of RunState changes; snapshot.test.ts notices a change of shape. */
const FORMAT = 9;
const HASH_BYTES = 32;

const hashOf = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

export function packSnapshot(state: RunState): Buffer {
  const body = serialize({ format: FORMAT, state });
  return Buffer.concat([hashOf(body), body]);
}

/** undefined for what was not packed by this version for this run. */
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
