// What the recovery model compares: the state that decisions depend on, and the outcomes in the ledger.
import { bodyOf } from '../../schemas/framing.ts';
import type { LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier, type LedgerReport } from '../../streams/run/verify-ledger.ts';
import { foldLedger, foldTask } from '../../streams/run/fold.ts';
import { newRunState, type RunState } from '../../streams/run/run-state.ts';
import { rewardOf, statusOf, spansOf } from '../../streams/trajectory/attempt.ts';
import { createLiveness } from '../../streams/trainer/liveness.ts';
import { createRewardWait } from './reward-wait.ts';
import { runId, settings, type RecoveryWorld, foldRollouts, planOf, policyOf } from './recovery-world.testing.ts';

/** Every outcome in the ledger, by attempt: `trained` or the reason of the discard. */
export async function outcomesOf(world: RecoveryWorld): Promise<readonly (readonly [attempt: string, outcome: string])[]> {
  const outcomes: (readonly [string, string])[] = [];
  await world.log.reader().readToEnd('training', {
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await world.events.read(record);
        if (!read.ok) continue;
        const { type, event } = read.value;
        const name = (row: { trajectory_id: string; attempt: number }): string => `${row.trajectory_id}/${row.attempt}`;
        if (type === 'TrajectoryDiscarded') outcomes.push([name(event), event.reason]);
        if (type === 'StepCompleted') outcomes.push(...event.trajectories.map((row) => [name(row), 'trained'] as const));
      }
    },
  });
  return outcomes;
}

/** The parts of a state that decisions depend on. */
export function summary(state: RunState) {
  const groups = [...state.groups.values()]
    .sort((a, b) => a.order - b.order)
    .map((group) => ({
      id: group.id,
      decided: state.decided.has(group.id),
      trajectories: [...group.trajectories.values()]
        .sort((a, b) => a.sample - b.sample)
        .map(({ id, winner, settled, exhausted, request, attempts }) => ({
          ...{ id, winner, settled, exhausted, asked: request.attempt },
          attempts: [...attempts.values()]
            .sort((a, b) => a.number - b.number)
            .map((attempt) => ({
              number: attempt.number,
              status: statusOf(attempt),
              tokens: attempt.tokens,
              spans: spansOf(attempt),
              reward: rewardOf(attempt),
            })),
        })),
    }));
  return { version: state.version, weights: state.weightsSha256, chain: state.chain, counters: { ...state.counters }, groups };
}

export async function foldFromZero(world: RecoveryWorld): Promise<RunState> {
  const state = newRunState(runId);
  const each = async (topic: 'training' | 'tasks', fold: (value: never, at: { body: Buffer; partition: number; offset: number }) => void) =>
    world.log.reader().readToEnd(topic, {
      onBatch: async (batch) => {
        for (const record of batch.records) {
          const read = await world.events.read(record);
          if (read.ok) fold(read.value as never, { body: bodyOf(record.value ?? Buffer.alloc(5)), ...record });
        }
      },
    });
  await each('training', (entry: LedgerEntry, at) => {
    foldLedger(state, entry, at);
  });
  await each('tasks', (read: { event: Parameters<typeof foldTask>[1] }, at) => {
    foldTask(state, read.event, at);
  });
  await foldRollouts(world, state);
  return state;
}

export async function ledgerOf(world: RecoveryWorld): Promise<LedgerReport> {
  const verifier = createLedgerVerifier();
  await world.log.reader().readToEnd('training', {
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await world.events.read(record);
        if (read.ok) verifier.entry(read.value as LedgerEntry, bodyOf(record.value ?? Buffer.alloc(5)), record.offset);
      }
    },
  });
  for (let version = 0; version <= world.state.version; version += 1) {
    const policy = { ...policyOf(version), event_id: '', run_id: runId, occurred_at: 1, producer: '' };
    verifier.policy(policy, policy.sha256);
  }
  return verifier.report();
}

export const openTrajectories = (state: RunState): number => [...state.groups.values()].reduce((sum, { size }) => sum + size, 0);

/** Expires open attempts until every group has an outcome. */
export async function giveUp(world: RecoveryWorld): Promise<readonly string[]> {
  const reasons: string[] = [];
  for (let round = 0; round <= settings.maxAttempts; round += 1) {
    const liveness = createLiveness({ silenceMs: 0 });
    liveness.live(0);
    liveness.claimed(new Map([0, 1].map((partition) => [partition, Infinity])));
    liveness.expired(world.state, 1);
    const rewards = createRewardWait({ timeoutMs: 0 });
    rewards.expired(world.state, 1);
    const expiries = [...liveness.expired(world.state, Number.MAX_SAFE_INTEGER), ...rewards.expired(world.state, 2)];
    reasons.push(...expiries.map(({ reason }) => reason));
    const plan = planOf(world.state, { expiries, admitting: false });
    if (plan.any) await world.committer.carryOut(plan);
  }
  return reasons;
}
