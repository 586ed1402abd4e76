// A cache of the folded state of a run, which a restart reads instead of folding the log again. Nothing else depends on it. It contains the
// positions at which it was taken and a hash of itself. A snapshot that is missing, damaged, of another run or format, or of a different
// ledger is ignored: the whole ledger of the run is read, and requests and turns from the newest resume point.
import { createHash } from 'node:crypto';
import { deserialize, serialize } from 'node:v8';
import type { RunStart } from '../../streams/core/ports.ts';
import type { RunState } from '../../streams/run/run-state.ts';

/** Stores the newest snapshot of a run. */
export interface SnapshotStore {
  read(): Promise<Buffer | undefined>;
  write(bytes: Buffer): Promise<void>;
  /** Removes the snapshot of a finished run. */
  remove(): Promise<void>;
}

/** Increase this if the shape or the meaning of a snapshot changes; recovery.model.test.ts detects a change of shape. */
const FORMAT = 11;
const HASH_BYTES = 32;

const hashOf = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();

export interface RunSnapshot {
  readonly state: RunState;
  /** No record of the run precedes it. */
  readonly start: RunStart;
}

export function packSnapshot({ state, start }: RunSnapshot): Buffer {
  const body = serialize({ format: FORMAT, state, start });
  return Buffer.concat([hashOf(body), body]);
}

/** Returns undefined for a snapshot that is damaged, or of another format or run. */
export function unpackSnapshot(bytes: Buffer, runId: string): RunSnapshot | undefined {
  const body = bytes.subarray(HASH_BYTES);
  if (!hashOf(body).equals(bytes.subarray(0, HASH_BYTES))) return undefined;
  try {
    const { format, ...snapshot } = deserialize(body) as RunSnapshot & { format: number };
    return format === FORMAT && snapshot.state.runId === runId ? snapshot : undefined;
  } catch {
    return undefined;
  }
}
