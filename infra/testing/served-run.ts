// The coordinator of a run with an external trainer over the in-memory log: the real loop, ledger, leases, and rows.
import type { ExternalDeps, TrainerDeps, TrainerEnd } from '../../consumers/trainer/deps.ts';
import { createCoordinator } from '../../consumers/trainer/external/coordinator.ts';
import { createDesk } from '../../consumers/trainer/external/desk.ts';
import { createLogRows } from '../../consumers/trainer/external/log-rows.ts';
import { newOwner } from '../../consumers/trainer/ownership.ts';
import { runTrainer } from '../../consumers/trainer/trainer.ts';
import type { Coordinator } from '../../streams/leases/coordinator.ts';
import { findLease } from '../../streams/leases/find-lease.ts';
import type { Rig } from './trainer-rig.ts';

export interface Served {
  readonly coordinator: Coordinator;
  readonly ended: Promise<TrainerEnd>;
  readonly stop: () => Promise<unknown>;
}

let opened = 0;

/** Starts a coordinator, which takes over from the previous one. */
export function serveRun(rig: Rig, limits: Partial<ExternalDeps> = {}, overrides: Partial<TrainerDeps> = {}): Served {
  const desk = createDesk();
  const source = { log: rig.log.reader(), events: rig.events, runId: 'run-a' };
  const rows = createLogRows(source);
  const external = { desk, rows, leaseMs: 60_000, prefetch: 1, lingerMs: 50, ...limits };
  const stopping = new AbortController();
  const owner = newOwner(`coordinator-${(opened += 1)}`);
  const ended = runTrainer(rig.deps({ learner: undefined, external, owner, ...overrides }), stopping.signal);
  ended.catch(() => undefined);
  const stop = (): Promise<unknown> => {
    stopping.abort();
    return ended.catch(() => undefined);
  };
  return { coordinator: createCoordinator({ runId: 'run-a', desk, rows, findLease: (id) => findLease(source, id) }), ended, stop };
}
