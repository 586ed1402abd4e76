// A run with an external trainer over the in-memory log: the real loop and ledger, and a trainer of a few lines.
import { vi } from 'vitest';
import { stopFollowing } from '../../../infra/testing/follow-events.ts';
import { serveRun, type Served } from '../../../infra/testing/served-run.ts';
import { verified, type Rig } from '../../../infra/testing/trainer-rig.ts';
import type { ClaimAnswer, CommitRequest, Coordinator, LeaseAnswer } from '../../../streams/leases/coordinator.ts';

const stops: (() => Promise<unknown>)[] = [];

/** Ends the coordinators and workers of a test. */
export async function closeServed(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
  await stopFollowing();
}

/** Starts a coordinator, which takes over from the previous one and ends with the test. */
export function serve(...of: Parameters<typeof serveRun>): Served {
  const served = serveRun(...of);
  stops.push(served.stop);
  return served;
}

export const claim = (coordinator: Coordinator, rest: object = {}): Promise<ClaimAnswer> =>
  vi.waitFor(() => coordinator.claim('run-a', { trainer_id: 't', ...rest }), { timeout: 10_000, interval: 20 });

export async function lease(coordinator: Coordinator, { epoch, lineage }: ClaimAnswer, rest: object = {}): Promise<LeaseAnswer> {
  const leased = await coordinator.lease('run-a', { epoch, lineage, wait_ms: 8_000, ...rest }, new AbortController().signal);
  if (leased === undefined) throw new Error('there is nothing to lease');
  return leased;
}

export const commitOf = ({ epoch }: ClaimAnswer, { batch_sha256, step }: LeaseAnswer): CommitRequest => ({
  ...{ epoch, batch_sha256, metrics: { loss: step, mine: 0.5 }, train_ms: 3 },
  policy: { uri: `file:///w/${step}`, sha256: String(step).padStart(64, '0'), format: 'hf-safetensors' },
});

export async function linesOf(coordinator: Coordinator, batch: string): Promise<readonly Record<string, unknown>[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of (await coordinator.rows(batch, {})).body ?? []) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Trains steps one after another, and returns the lineage of the last. */
export async function train(coordinator: Coordinator, claimed: ClaimAnswer, steps: number): Promise<ClaimAnswer> {
  let at = claimed;
  for (let made = 0; made < steps; made += 1) {
    const leased = await lease(coordinator, at);
    const { lineage, version } = await coordinator.commit(leased.batch_id, commitOf(at, leased));
    at = { ...at, lineage, version };
  }
  return at;
}

/** The weights are not in the log, so the verifier trusts the hash that the trainer reported. */
export const verifiedAsTold = (rig: Rig): ReturnType<typeof verified> => verified(rig, ({ sha256 }) => sha256);
