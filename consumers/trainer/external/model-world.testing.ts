// A coordinator without its loop, over the in-memory log: calls are served one after another, time is a number, and a coordinator that
// crashes is replaced by one that folds the log.
import { codecReader } from '../../../infra/testing/codec-reader.ts';
import { silentLogger } from '../../../infra/testing/logger.ts';
import { MemoryLog } from '../../../infra/testing/memory-log.ts';
import { finished, started, turn } from '../../../infra/testing/rollout-events.ts';
import type { PlatformError } from '../../../streams/core/errors.ts';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import { noMetrics } from '../../../streams/core/telemetry.ts';
import type { BatchRows } from '../../../streams/leases/batch-rows.ts';
import { expireLeases } from './leases.ts';
import { createLogRows } from './log-rows.ts';
import { createMeasuring } from './measuring.ts';
import { entriesOf, type ReadEntry } from '../../../streams/ledger/read-ledger.ts';
import { createLedgerVerifier, type LedgerReport } from '../../../streams/run/verify-ledger.ts';
import { EXTERNAL, foldRollout, noteRead } from '../../../streams/run/fold.ts';
import { resumeOf } from '../../../streams/run/resume.ts';
import { rolloutView, type RolloutEvent } from '../../../streams/trajectory/rollout-view.ts';
import { newRunState, type RunState } from '../../../streams/run/run-state.ts';
import { spansOf, statusOf } from '../../../streams/trajectory/attempt.ts';
import { createCommitter } from '../committer.ts';
import type { ExternalLife, Job, Loop } from '../deps.ts';
import { createListening } from '../listening.ts';
import { recoverRun } from '../recover.ts';
import { replayRun } from '../replay.ts';
import { restoreRequests } from '../restore-requests.ts';
import { planNow } from '../../../streams/trainer/plan.ts';
import type { RunSettings } from '../../../streams/trainer/run-settings.ts';

const RUN = 'run-a';
export const LEASE_MS = 1_000;
export const PREFETCH = 1;
export const modelSettings: RunSettings = {
  ...{ seed: 1, algorithm: 'grpo', dataset: 'factbook', groupSize: 2, batchGroups: 2, maxStaleness: 2, maxConcurrent: 6, maxAttempts: 2 },
  ...{ stalePolicy: 'discard', steps: 0, reward: 'f1', maxTurns: 8, maxTokens: 1_000, maxWallMs: 1_000, silenceMs: 1_000, maxDiscarded: 1 },
};
const question = { question_id: 'q-0', question: 'Which?', answers: ['a'], aug_answers: [] };
const questions = { count: 1, at: () => question, find: () => question };

/** The result of a call; there is no response if the coordinator crashed during it. */
export type CallResult<T> = { readonly answer: T } | { readonly refused: string; readonly error: PlatformError } | { readonly died: true };

const newLoop = (rows: BatchRows): Loop => ({
  measuring: createMeasuring(rows, () => undefined),
  ...{ training: undefined, waitedSinceMs: 0, lastPlanMs: 0, lookedUpTo: 0, lookDue: false, placed: undefined, leaseTimes: new Map() },
  ...{ snapshot: undefined, isKeeping: false, toldWaste: false, warning: '', ending: false, heardEnd: false, aheadOf: undefined },
});

export interface ModelWorld {
  readonly log: MemoryLog;
  /** Advanced by the test. */
  nowMs: number;
  life: ExternalLife;
  loop: Loop;
  /** Number of coordinators that were replaced. */
  restarts: number;
}

async function lifeOf(world: Pick<ModelWorld, 'log'> & { nowMs: number }, state: RunState): Promise<ExternalLife> {
  const { log } = world;
  const author = { runId: RUN, producer: 'trainer/t', codec: log.codec, now: () => world.nowMs * 1_000 };
  const events = codecReader(log.codec);
  const committer = createCommitter({
    ...{ author, state, settings: modelSettings, questions, writer: await log.transactional('trainer'), offsetsGroup: 'trainer' },
    ...{ start: { training: 0, policies: 0 }, metrics: noMetrics, claim: 'trainer', nowMs: () => world.nowMs, workerNow: () => 1 },
  });
  const clock = { now: () => world.nowMs, monotonic: () => world.nowMs };
  const external = { rows: createLogRows({ log: log.reader(), events }), leaseMs: LEASE_MS, prefetch: PREFETCH, lingerMs: 0 };
  const life: Partial<Record<keyof ExternalLife, unknown>> = {
    ...{ runId: RUN, state, used: modelSettings, committer, clock, external, events, log: log.reader(), logger: silentLogger },
    ...{
      metrics: noMetrics,
      report: () => undefined,
      start: { training: 0, policies: 0 },
      notice: '',
      architecture: { format: 'mlp-f32-v1' },
    },
    feed: { exclusively: (work: () => Promise<unknown>) => work() },
    listening: createListening({
      ...{ positions: state.rolloutPositions, monotonic: clock.monotonic, silenceMs: modelSettings.silenceMs },
      watch: { bounds: (topic) => log.reader().bounds(topic) },
      onInterrupted: () => undefined,
    }),
  };
  return life as unknown as ExternalLife;
}

export async function newModelWorld(): Promise<ModelWorld> {
  const log = new MemoryLog({ partitions: { tasks: 2, rollouts: 2 } });
  const base = { log, nowMs: 1_000 };
  const state = newRunState(RUN);
  const life = await lifeOf(base, state);
  const world = Object.assign(base, { life, loop: newLoop(life.external.rows), restarts: 0 });
  const run = { seed: 1, algorithm: 'grpo', backend: EXTERNAL, learner: '{}', steps: 0, dataset: 'factbook', weights_sha256: '' };
  const { groupSize, batchGroups, maxStaleness, maxConcurrent, maxAttempts } = modelSettings;
  const limits = { group_size: groupSize, batch_groups: batchGroups, max_staleness: maxStaleness, max_concurrent: maxConcurrent };
  const rest = { ...limits, max_attempts: maxAttempts, stale_policy: 'discard', resume: resumeOf(state), settings: '' };
  await world.life.committer.begin({ ...run, ...rest }, undefined);
  return world;
}

/** The state of a new coordinator, folded from the log. */
export async function refolded({ log }: Pick<ModelWorld, 'log'>): Promise<RunState> {
  const events = codecReader(log.codec);
  const { state } = await recoverRun({ runId: RUN, log: log.reader(), events });
  restoreRequests(state, { producer: 'trainer/t', settings: modelSettings, questions });
  await foldNew({ log }, state);
  return state;
}

export async function restart(world: ModelWorld): Promise<void> {
  world.life = await lifeOf(world, await refolded(world));
  world.loop.measuring?.close();
  world.loop = newLoop(world.life.external.rows);
  world.restarts += 1;
}

/** Serves a call as the loop does. If the log fails, the coordinator crashes. */
export async function call<T>(world: ModelWorld, job: Job<T>): Promise<CallResult<T | undefined>> {
  try {
    let outcome = await job(world.life, world.loop);
    // like the loop, try again once the rows of the batch are measured
    while (outcome.kind === 'later' && world.loop.measuring?.isBusy === true) {
      await new Promise((resolve) => setImmediate(resolve));
      outcome = await job(world.life, world.loop);
    }
    if (outcome.kind === 'refused') return { refused: outcome.error.code, error: outcome.error };
    return { answer: outcome.kind === 'later' ? undefined : outcome.value };
  } catch {
    await restart(world);
    return { died: true };
  }
}

/** Like `call`, for work that the coordinator does by itself. */
export async function byItself(world: ModelWorld, work: () => Promise<void>): Promise<void> {
  await work().catch(() => restart(world));
}

/** Asks Kafka for the end of the log when that is due, and ends expired leases, as the loop does. */
export async function listen(world: ModelWorld): Promise<void> {
  world.life.listening.look();
  await new Promise((resolve) => setImmediate(resolve));
  await byItself(world, () => expireLeases(world.life, world.loop));
}

async function foldNew({ log }: Pick<ModelWorld, 'log'>, state: RunState): Promise<void> {
  const events = codecReader(log.codec);
  await log.reader().readToEnd('rollouts', {
    from: state.rolloutPositions,
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = events.read(record);
        if (read.ok && read.value.type in rolloutView) foldRollout(state, read.value as RolloutEvent, record);
      }
      noteRead(state, batch);
    },
  });
}

/** Writes an attempt from start to finish; `versions` are those of its turns. */
export async function roll(
  world: ModelWorld,
  at: { readonly id: string; readonly attempt: number },
  { versions, reward }: { readonly versions: readonly number[]; readonly reward: number },
): Promise<void> {
  const place = (sequence: number) => ({ trajectory: at.id, attempt: at.attempt, sequence });
  const key = at.id.split('.')[0] ?? '';
  const turns = versions.map((version, i): OutgoingEvent => ({ type: 'TurnRecorded', key, event: turn(place(i + 1), version) }));
  const events: OutgoingEvent[] = [
    { type: 'TrajectoryStarted', key, event: started(place(0)) },
    ...turns,
    { type: 'TrajectoryFinished', key, event: finished(place(versions.length + 1), reward) },
  ];
  await world.log.writer().append(events);
  await foldNew(world, world.life.state);
}

/** The answer of a call that is served. */
export async function answered<T>(world: ModelWorld, job: Job<T>): Promise<T> {
  const called = await call(world, job);
  if (!('answer' in called) || called.answer === undefined) throw new Error(`there is no answer: ${JSON.stringify(called)}`);
  return called.answer;
}

/** Enough groups for one batch. */
export async function makeReady(world: ModelWorld): Promise<void> {
  const { state, committer } = world.life;
  const inputs = { settings: modelSettings, training: [], expiries: [], version: state.version, admitting: true };
  await committer.carryOut(planNow(state, inputs));
  for (const { trajectories } of [...state.groups.values()].slice(0, modelSettings.batchGroups)) {
    for (const { id, sample } of trajectories.values()) await roll(world, { id, attempt: 0 }, { versions: [0], reward: sample });
  }
}

export async function ledgerOf({ log }: Pick<ModelWorld, 'log'>): Promise<readonly ReadEntry[]> {
  const entries: ReadEntry[] = [];
  for await (const read of entriesOf({ log: log.reader(), events: codecReader(log.codec), runId: RUN })) entries.push(read);
  return entries;
}

export async function verifyLedger(world: Pick<ModelWorld, 'log'>): Promise<LedgerReport> {
  const verifier = createLedgerVerifier();
  for (const { entry, body, offset } of await ledgerOf(world)) verifier.entry(entry, body, offset);
  const events = codecReader(world.log.codec);
  for (const record of world.log.records('policies')) {
    const read = events.read(record);
    if (read.ok && read.value.type === 'PolicyPublished') verifier.policy(read.value.event, read.value.event.sha256);
  }
  return verifier.report();
}

/** Steps whose batch cannot be rebuilt from the log. */
export async function differingSteps({ log }: Pick<ModelWorld, 'log'>): Promise<readonly string[]> {
  const found: string[] = [];
  const weights = { put: async () => '', get: async () => Buffer.alloc(0) };
  const events = codecReader(log.codec);
  const source = { log: log.reader(), events, rollouts: events, runId: RUN, weights };
  await replayRun(source, { first: 1, last: Infinity, fromStart: false }, ({ step, differences }) => {
    found.push(...differences.map((one) => `step ${step}: ${JSON.stringify(one)}`));
  });
  return found;
}

/** Hashes of published weights, by version, as `policies` has them. */
export function publishedIn({ log }: Pick<ModelWorld, 'log'>): ReadonlyMap<number, string> {
  const events = codecReader(log.codec);
  const published = new Map<number, string>();
  for (const record of log.records('policies')) {
    const read = events.read(record);
    if (read.ok && read.value.type === 'PolicyPublished') published.set(read.value.event.version, read.value.event.sha256);
  }
  return published;
}

/** The parts of a state that affect decisions. */
export function summaryOf(state: RunState) {
  const byId = <T extends { readonly id: string }>(all: Iterable<T>): T[] => [...all].sort((a, b) => (a.id < b.id ? -1 : 1));
  const groups = byId(state.groups.values()).map((group) => ({
    ...{ id: group.id, decided: state.decided.has(group.id) },
    trajectories: byId(group.trajectories.values()).map(({ id, winner, exhausted, request, attempts }) => ({
      ...{ id, winner, exhausted, asked: request.attempt },
      attempts: [...attempts.values()].map((one) => ({
        number: one.number,
        status: statusOf(one),
        tokens: one.tokens,
        spans: spansOf(one),
      })),
    })),
  }));
  const { version, weightsSha256, chain, counters, rewinds, leases } = state;
  return { version, weightsSha256, chain, counters: { ...counters }, rewinds, leases, groups };
}
