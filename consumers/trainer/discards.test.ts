// Every discard reason, with a complete trainer over the in-memory log: it is in the ledger with its account and in the metrics, and
// `ledger verify` always passes.
import { createHash } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { silentLogger } from '../../infra/testing/logger.ts';
import { finished, started, turn } from '../../infra/testing/rollout-events.ts';
import { settings as rigSettings } from '../../infra/testing/trainer-rig.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { followTasks, stopFollowing } from '../../infra/testing/follow-events.ts';
import { createMetrics } from '../../infra/telemetry/metrics.ts';
import { bodyOf } from '../../schemas/framing.ts';
import type { EventByType, TrajectoryRequested } from '../../schemas/generated/events.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { isLedgerType, type LedgerEntry } from '../../streams/ledger/chain.ts';
import { createLedgerVerifier } from '../../streams/run/verify-ledger.ts';
import type { RunSettings } from '../../streams/trainer/run-settings.ts';
import { runTrainer } from './trainer.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const settings: RunSettings = { ...rigSettings, groupSize: 3, batchGroups: 1, maxStaleness: 50, steps: 0, maxWallMs: 600_000 };
const update = { loss: 0, approx_kl: 0, behave_kl: 0, clip_fraction: 0, capped_fraction: 0, ess: 1, entropy: 1, grad_norm: 1 };

/** The events that are written when a task is taken; if empty, its worker stays silent. */
type WorkerScript = (request: TrajectoryRequested) => readonly OutgoingEvent[];

interface Play {
  readonly discards: readonly EventByType['TrajectoryDiscarded'][];
  readonly trained: ReadonlySet<string>;
  readonly metrics: string;
  /** The StepCompleted event of each step. */
  readonly steps: readonly EventByType['StepCompleted'][];
  /** The figures of each step in the terminal. */
  readonly figures: readonly Readonly<Record<string, number>>[];
}

afterEach(stopFollowing);

async function entriesOf(
  log: MemoryLog,
): Promise<readonly { readonly entry: LedgerEntry; readonly body: Buffer; readonly offset: number }[]> {
  const entries: { entry: LedgerEntry; body: Buffer; offset: number }[] = [];
  for (const record of log.records('training')) {
    const read = codecReader(log.codec).read(record);
    if (read.ok && isLedgerType(read.value.type))
      entries.push({ entry: read.value as LedgerEntry, body: bodyOf(record.value ?? Buffer.alloc(5)), offset: record.offset });
  }
  return entries;
}

async function answerTasks(log: MemoryLog, script: WorkerScript): Promise<void> {
  await followTasks(log, async (request) => {
    const answers = script(request);
    if (answers.length > 0) await log.writer().append(answers);
  });
}

/** Runs a trainer against the script until `over` holds for what it has written. */
async function play(
  script: WorkerScript,
  own: Partial<RunSettings>,
  over: (play: Pick<Play, 'discards' | 'trained'>) => boolean,
): Promise<Play> {
  const log = new MemoryLog({ partitions: { tasks: 1, rollouts: 2 } });
  const metrics = createMetrics('trainer');
  await answerTasks(log, script);
  const stop = new AbortController();
  const figures: Readonly<Record<string, number>>[] = [];
  const running = runTrainer(
    {
      runId: 'run-a',
      producer: 'trainer/t-0',
      settings: { ...settings, ...own },
      architecture: { format: 'mlp-f32-v1', inputs: 2, hidden: [4] },
      log: log.reader(),
      events: codecReader(log.codec),
      rollouts: codecReader(log.codec),
      codec: log.codec,
      openWriter: () => log.transactional('trainer.run-a'),
      offsets: log.offsets,
      groups: { trainer: 'trainer.run-a', workers: 'workers.run-a' },
      learner: {
        backend: 'cpu',
        initial: async () => ({ weights: Buffer.from('0'), optimizer: Buffer.alloc(0) }),
        restore: async () => undefined,
        train: async ({ step }) => ({ weights: Buffer.from(`${step}`), optimizer: Buffer.alloc(0), metrics: update, trainMs: 1 }),
        close: async () => undefined,
      },
      weights: { put: async (sha256) => `memory:${sha256}`, get: async () => Buffer.alloc(0) },
      questions: async () => ({
        count: 1,
        find: () => undefined,
        at: () => ({ question_id: 'q-0', question: 'Which?', answers: ['a'], aug_answers: [] }),
      }),
      clock: systemClock,
      logger: silentLogger,
      metrics,
      report: (status) => {
        if ('staleness_mean' in status.figures) figures.push(status.figures);
      },
    },
    stop.signal,
  );
  const soFar = async () => {
    const entries = (await entriesOf(log)).map(({ entry }) => entry);
    const discards = entries.flatMap((entry) => (entry.type === 'TrajectoryDiscarded' ? [entry.event] : []));
    const steps = entries.flatMap((entry) => (entry.type === 'StepCompleted' ? [entry.event] : []));
    const rows = steps.flatMap(({ trajectories }) => trajectories);
    return { discards, steps, trained: new Set(rows.map((row) => `${row.trajectory_id.slice(6)}/${row.attempt}`)) };
  };
  await vi.waitFor(
    async () => {
      expect(over(await soFar())).toBe(true);
    },
    { timeout: 30_000, interval: 20 },
  );
  stop.abort();
  await running;
  const verifier = createLedgerVerifier();
  for (const { entry, body, offset } of await entriesOf(log)) verifier.entry(entry, body, offset);
  for (const record of log.records('policies')) {
    const read = codecReader(log.codec).read(record);
    if (read.ok && read.value.type === 'PolicyPublished')
      verifier.policy(read.value.event, createHash('sha256').update(read.value.event.weights).digest('hex'));
  }
  expect(verifier.report().problems).toEqual([]);
  return { ...(await soFar()), figures, metrics: await metrics.text() };
}

interface DiscardedAttempt {
  readonly group_id: string;
  readonly trajectory_id: string;
  readonly attempt: number;
}

/** The records of an attempt with one turn by `version`: start, turn and end. */
function recordsOf(
  { group_id: key, trajectory_id: trajectory, attempt }: DiscardedAttempt,
  reward: number,
  version: number,
): readonly OutgoingEvent[] {
  const place = (sequence: number) => ({ trajectory, attempt, sequence });
  return [
    // a separate worker, so that it counts as silent when it writes nothing more
    { type: 'TrajectoryStarted', key, event: { ...started(place(0)), worker_id: `w-${trajectory}` } },
    { type: 'TurnRecorded', key, event: turn(place(1), version) },
    { type: 'TrajectoryFinished', key, event: finished(place(2), reward) },
  ];
}

const wholeOf = (request: TrajectoryRequested): readonly OutgoingEvent[] => recordsOf(request, request.sample % 2, 0);

const withOtherTokens = (one: OutgoingEvent): OutgoingEvent =>
  one.type === 'TrajectoryFinished' ? { ...one, event: { ...one.event, completion_tokens: 11 } } : one;

const tell = ({ discards }: Play): readonly string[] =>
  discards.map(({ trajectory_id: id, attempt, reason }) => `${id.slice(6)}/${attempt} ${reason}`);

/** Checks every figure in the account of a discarded attempt that has one turn of ten tokens by version 0. */
function expectAccount(discard: EventByType['TrajectoryDiscarded'] | undefined, reward: number): void {
  expect(discard).toMatchObject({ turns: 1, tokens: 10, reward, version_first: 0, version_last: 0, unknown_tokens: 0, flight_ms: 2_000 });
  const { version = -1, staleness_total: total, staleness_in_flight: inFlight, staleness_in_queue: inQueue } = discard ?? {};
  expect([total, inFlight, inQueue]).toEqual([version, 0, version]);
  expect(discard).toMatchObject({ staleness_worst: version, staleness_best: version, staleness_span: 1, staleness_token_mean: version });
  expect(discard?.queue_ms).toBeGreaterThanOrEqual(0);
}

it('distinguishes uniform, incomplete, expired, superseded, and invalid attempts, each with its account', async () => {
  const again: TrajectoryRequested[] = [];
  const byGroup: readonly WorkerScript[] = [
    // all rewards are equal
    (request) => recordsOf(request, 0.5, 0),
    // one of three finishes, another one starts
    (request) => wholeOf(request).slice(0, [3, 2, 0][request.sample]),
    // all are silent; sample 0 finishes its second attempt, and then its first attempt comes back
    (request) => {
      if (request.attempt === 0) return wholeOf(request).slice(0, 1);
      if (again.push(request) < 3) return [];
      const late = recordsOf({ ...request, trajectory_id: `${request.group_id}.0`, attempt: 0 }, 0.75, 0).slice(1);
      const [first, ...others] = again.sort((one, other) => one.sample - other.sample).map(wholeOf);
      return [...(first ?? []), ...late, ...others.flat()];
    },
    // one has a gap, one reports a wrong token count
    (request) => {
      if (request.attempt === 1 || request.sample === 2) return wholeOf(request);
      return request.sample === 0 ? wholeOf(request).filter((_, i) => i !== 1) : wholeOf(request).map(withOtherTokens);
    },
  ];
  const script: WorkerScript = (request) => (byGroup[request.group_index] ?? wholeOf)(request);
  const closed = ['g000000.0', 'g000001.0', 'g000002.0', 'g000003.0'];
  // steps continue while the silent ones are waited for
  const played = await play(script, { maxStaleness: 1_000_000 }, ({ discards, trained }) => {
    const decided = [...discards.map(({ trajectory_id: id }) => id.slice(6)), ...[...trained].map((id) => id.split('/')[0])];
    return closed.every((id) => decided.includes(id));
  });
  const { discards, trained, metrics } = played;
  expect(
    tell(played)
      .filter((told) => closed.some((id) => told.startsWith(id.slice(0, -2))))
      .sort(),
  ).toEqual([
    'g000000.0/0 uniform_group',
    'g000000.1/0 uniform_group',
    'g000000.2/0 uniform_group',
    'g000001.0/0 incomplete',
    'g000001.1/1 expired',
    'g000001.2/1 expired',
    'g000002.0/0 superseded',
    'g000003.0/0 invalid',
    'g000003.1/0 invalid',
  ]);
  for (const id of ['g000002.0/1', 'g000002.1/1', 'g000003.0/1', 'g000003.1/1', 'g000003.2/0']) expect(trained).toContain(id);
  const find = (id: string, reason: string) => discards.find((one) => one.trajectory_id.endsWith(id) && one.reason === reason);
  expectAccount(find('g000000.0', 'uniform_group'), 0.5);
  expectAccount(find('g000001.0', 'incomplete'), 0);
  expectAccount(find('g000002.0', 'superseded'), 0.75);
  expectAccount(find('g000003.1', 'invalid'), 1);
  expect(find('g000003.0', 'invalid'), 'only what was seen').toMatchObject({ turns: 1, tokens: 0, version_first: -1 });
  expect(find('g000001.1', 'expired'), 'what was made until it was given up').toMatchObject({
    turns: 1,
    tokens: 10,
    reward: 0,
    flight_ms: 0,
  });
  expect(find('g000001.2', 'expired')).toMatchObject({ turns: 0, tokens: 0, reward: 0 });
  for (const reason of new Set(discards.map((one) => one.reason))) {
    const count = discards.filter((one) => one.reason === reason).length;
    expect(metrics).toContain(`turnstream_trainer_discards_total{reason="${reason}",role="trainer"} ${count}`);
  }
});

it('discards trajectories that are too stale, with their staleness', async () => {
  const played = await play(wholeOf, { maxStaleness: 1 }, ({ discards }) => discards.length > 5);
  expect(new Set(played.discards.map(({ reason }) => reason))).toEqual(new Set(['stale']));
  for (const discard of played.discards) {
    expect(discard.staleness_worst).toBe(2);
    expectAccount(discard, Number(discard.trajectory_id.at(-1)) % 2);
  }
  expect(played.metrics).toContain(`turnstream_trainer_discards_total{reason="stale",role="trainer"} ${played.discards.length}`);
});

it('reports the same staleness in the ledger, the metrics, and the terminal', async () => {
  // the turns have different versions and token counts, so the mean over tokens differs
  const script: WorkerScript = (request) => {
    const { group_id: key, trajectory_id: trajectory, attempt, sample, admitted_version: admitted } = request;
    const place = (sequence: number) => ({ trajectory, attempt, sequence });
    const tokens = 10 * (1 + sample);
    const spans = { policy_spans: [{ version: Math.max(0, admitted - sample), tokens }], completion_tokens: tokens };
    return [
      { type: 'TrajectoryStarted', key, event: started(place(0)) },
      { type: 'TurnRecorded', key, event: turn(place(1), 0, spans) },
      { type: 'TrajectoryFinished', key, event: finished(place(2), sample % 2, { completion_tokens: tokens }) },
    ];
  };
  const { steps, figures, metrics } = await play(script, { maxStaleness: 1_000_000 }, ({ trained }) => trained.size >= 18);
  for (const { trajectories, metrics: said } of steps) {
    const mean = (of: (one: (typeof trajectories)[number]) => number): number =>
      trajectories.reduce((sum, one) => sum + of(one), 0) / trajectories.length;
    expect(said.staleness_mean).toBe(mean((one) => one.staleness_total));
    expect(said.staleness_in_flight_mean + said.staleness_in_queue_mean).toBeCloseTo(said.staleness_mean, 12);
    expect(said.staleness_max).toBe(Math.max(...trajectories.map((one) => one.staleness_total)));
    const tokens = trajectories.reduce((sum, one) => sum + one.tokens, 0);
    expect(said.staleness_token_mean).toBeCloseTo(mean((one) => one.staleness_token_mean * one.tokens * trajectories.length) / tokens, 12);
  }
  const last = steps.at(-1)!.metrics;
  expect(last.staleness_token_mean).not.toBe(last.staleness_mean);
  for (const name of ['mean', 'p95', 'max', 'in_flight_mean', 'in_queue_mean', 'token_mean', 'token_p95', 'token_max'] as const) {
    expect(metrics).toContain(`turnstream_trainer_staleness{statistic="${name}",role="trainer"} ${last[`staleness_${name}`]}\n`);
  }
  const { staleness_mean, staleness_max, staleness_in_flight_mean, staleness_in_queue_mean } = last;
  expect(figures.at(-1)).toMatchObject({ staleness_mean, staleness_max, staleness_in_flight_mean, staleness_in_queue_mean });
});
