// Stopped processes and wrong clocks: no attempt of a live worker is given up, and the log decides which trainer owns a run.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DecodedEvent } from '../../schemas/codec.ts';
import { createCodec } from '../../schemas/codec.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { ofRun } from '../../streams/core/read-log.ts';
import { connectLog, type LogConnection } from '../app/open/connections.ts';
import { silentLogger } from '../testing/logger.ts';
import type { RoleProcess } from '../testing/role-process.ts';
import { openRolesWorld, type RolesWorld } from '../testing/roles-world.ts';
import { command } from '../testing/up.ts';
import { readFacts } from './torture/facts.ts';
import { judgeRun } from './torture/oracle.ts';

const SILENCE_MS = 3_000;
const HOUR_MS = 3_600_000;
/** The broker aborts transactions that are open for longer; it checks every second. */
const TRANSACTION_MS = 15_000;
const patience = { timeout: 60_000, interval: 50 };
const preload = `--import=${new URL('../testing/shifted-clock.mjs', import.meta.url).href}`;

const shifted = (shiftMs: number, more: Readonly<Record<string, string>> = {}) => ({
  NODE_OPTIONS: preload,
  SHIFT_CLOCK_MS: String(shiftMs),
  ...more,
});

describe('time', () => {
  let world: RolesWorld;
  let log: LogConnection;

  beforeAll(async () => {
    world = await openRolesWorld({
      TURNSTREAM_SILENCE_MS: String(SILENCE_MS),
      TURNSTREAM_LATENCY_MODEL: 'log-normal',
      TURNSTREAM_LATENCY_GENERATION_MS: '400',
      // the runs go on while a test waits: they must not keep the machine busy
      TURNSTREAM_LATENCY_TRAIN_MS: '300',
      TURNSTREAM_MAX_CONCURRENT: '12',
      TURNSTREAM_MAX_STALENESS: '8',
    });
    log = await connectLog({ config: world.config, clientId: 'test', logger: silentLogger });
  });
  afterEach(() => world.killRoles());
  afterAll(async () => {
    await log.close();
    await world.close();
  });

  const trainerOf = (run: string) => ['trainer', '--run', run] as const;
  const workerOf = (run: string) => ['worker', '--run', run, '--name', `worker-${run}`] as const;
  const atStep = (step: number) => (status: { readonly figures: Readonly<Record<string, number>> }) =>
    (status.figures['step'] ?? 0) >= step;
  const judged = async (run: string) => judgeRun((await readFacts(log.kafka.reader(), createCodec(), run)).facts);

  async function eventsOf(topic: EventTopic, run: string): Promise<readonly DecodedEvent[]> {
    const found: DecodedEvent[] = [];
    await log.kafka.reader().readToEnd(topic, {
      onBatch: async ({ records }) => {
        for (const record of records.filter(ofRun(run))) {
          const read = await log.events.read(record);
          if (read.ok) found.push(read.value);
        }
      },
    });
    return found;
  }

  const expiriesOf = async (run: string) =>
    (await eventsOf('training', run)).flatMap(({ type, event }) => (type === 'TrajectoryExpired' ? [event.reason] : []));

  const stepsOf = async (run: string) =>
    (await eventsOf('training', run)).flatMap(({ type, event }) => (type === 'StepCompleted' ? [event] : []));

  /** Ends all roles, and checks the logs of the runs. */
  async function areSound(...runs: readonly string[]): Promise<void> {
    await world.killRoles();
    for (const run of runs) {
      expect((await judged(run)).problems, run).toEqual([]);
      expect(await command(world.env, 'ledger', 'verify', '--run', run), run).toMatchObject({ code: 0 });
    }
  }

  /** Waits until the worker of a run sends a heartbeat that is at least `ms` from now: a stopped role misses everything until then. */
  async function untilHeartbeat(run: string, ms: number): Promise<void> {
    const atMs = Date.now() + ms;
    const isThere = async (): Promise<boolean> =>
      (await eventsOf('rollouts', run)).some(({ type, event }) => type === 'WorkerHeartbeat' && event.occurred_at / 1_000 >= atMs);
    await expect.poll(isThere, { ...patience, interval: 500 }).toBe(true);
  }

  /** Waits until a process whose clock jumps has written an event with the wrong time. */
  async function untilJump(topic: EventTopic, run: string): Promise<void> {
    const isThere = async (): Promise<boolean> =>
      (await eventsOf(topic, run)).some(({ event }) => Math.abs(event.occurred_at / 1_000 - Date.now()) > HOUR_MS / 2);
    await expect.poll(isThere, { ...patience, interval: 500 }).toBe(true);
  }

  async function newestStep(role: RoleProcess): Promise<number> {
    return role.statuses().reduce((newest, { figures }) => Math.max(newest, figures['step'] ?? 0), 0);
  }

  // Runs mostly wait, so most tests play two at once, and check them when both are done.

  it('a trainer that was stopped for longer than the silence limit gives up no attempt; those of a killed worker are given up', async () => {
    const stopped = async (run: string): Promise<void> => {
      await world.start({}, ...workerOf(run));
      const trainer = await world.start({}, ...trainerOf(run));
      await trainer.until(atStep(1));
      for (let time = 0; time < 2; time += 1) {
        trainer.signal('SIGSTOP');
        await untilHeartbeat(run, 2 * SILENCE_MS);
        trainer.signal('SIGCONT');
        await trainer.until(atStep((await newestStep(trainer)) + 2));
      }
    };
    const killed = async (run: string): Promise<void> => {
      const worker = await world.start({}, ...workerOf(run));
      const trainer = await world.start({}, ...trainerOf(run));
      await trainer.until(atStep(1));
      worker.signal('SIGKILL');
      await world.start({}, ...workerOf(run));
      await expect.poll(() => expiriesOf(run), patience).not.toEqual([]);
      await trainer.until(atStep((await newestStep(trainer)) + 2));
    };
    await Promise.all([stopped('stopped'), killed('killed')]);
    expect(await expiriesOf('stopped')).toEqual([]);
    await areSound('stopped');
  });

  it('workers whose clocks are wrong by an hour, behind and ahead, lose no attempt', async () => {
    const shifts = { behind: -HOUR_MS, ahead: HOUR_MS };
    const play = async ([run, shiftMs]: readonly [string, number]): Promise<void> => {
      await world.start(shifted(shiftMs), ...workerOf(run));
      const trainer = await world.start({}, ...trainerOf(run), '--steps', '4');
      expect(await trainer.exited, trainer.output().slice(-2_000)).toEqual({ code: 0, signal: null });
    };
    await Promise.all(Object.entries(shifts).map(play));
    for (const run of Object.keys(shifts)) {
      expect(await expiriesOf(run), run).toEqual([]);
      const queued = (await stepsOf(run)).flatMap(({ trajectories }) => trajectories.map(({ queue_ms: ms }) => ms));
      expect(Math.max(...queued), run).toBeLessThan(HOUR_MS / 2);
      expect(Math.max(...queued), run).toBeGreaterThan(0);
    }
    await areSound(...Object.keys(shifts));
  });

  it('clocks that jump by an hour, back and ahead, stall nothing and change no duration', async () => {
    const shifts = { 'jump-back': -HOUR_MS, 'jump-ahead': HOUR_MS };
    const play = async ([run, shiftMs]: readonly [string, number]): Promise<void> => {
      const jump = shifted(shiftMs, { SHIFT_CLOCK_AFTER_MS: '10000' });
      await world.start(jump, ...workerOf(run));
      const trainer = await world.start(jump, ...trainerOf(run));
      await trainer.until(atStep(1));
      await Promise.all([untilJump('rollouts', run), untilJump('training', run)]);
      await trainer.until(atStep((await newestStep(trainer)) + 3));
    };
    await Promise.all(Object.entries(shifts).map(play));
    for (const run of Object.keys(shifts)) {
      expect(await expiriesOf(run), run).toEqual([]);
      const rollouts = await eventsOf('rollouts', run);
      const durations = [
        ...(await stepsOf(run)).flatMap(({ wait_ms, train_ms, trajectories }) => [
          ...[wait_ms, train_ms],
          ...trajectories.map(({ flight_ms }) => flight_ms),
        ]),
        ...rollouts.flatMap(({ type, event }) => (type === 'TurnRecorded' ? [event.generation_ms, event.latency_ms] : [])),
        ...rollouts.flatMap(({ type, event }) => (type === 'TrajectoryFinished' ? [event.finished_at - event.started_at] : [])),
      ];
      expect(Math.min(...durations), run).toBeGreaterThanOrEqual(0);
      expect(Math.max(...durations) / 1_000, run).toBeLessThan(HOUR_MS / 2);
    }
    await areSound(...Object.keys(shifts));
  });

  it('trainers of two runs that were frozen in overlapping transactions do not end their successors', async () => {
    // Both transactions are aborted, in any order.
    const points = { 'frozen-produce': 'trainer.commit.produce.after', 'frozen-end': 'trainer.commit.end.before' };
    const play = async ([run, point]: readonly [string, string]): Promise<void> => {
      await world.start({}, ...workerOf(run));
      const frozen = await world.start({ TURNSTREAM_CRASH_AT: `trainer.step.trained:2,${point}:freeze` }, ...trainerOf(run));
      await expect.poll(() => frozen.output(), patience).toContain(`crash point ${point}: SIGSTOP`);
      const successor = await world.start({}, ...trainerOf(run));
      await successor.until(atStep(3));
      await untilHeartbeat(run, TRANSACTION_MS);
      frozen.signal('SIGCONT');
      expect(await frozen.exited, frozen.output()).toEqual({ code: 3, signal: null });
      expect(frozen.output()).toContain('PRODUCER_FENCED');
      await successor.until(atStep((await newestStep(successor)) + 3));
      successor.signal('SIGTERM');
      expect(await successor.exited, successor.output()).toEqual({ code: 143, signal: null });
    };
    await Promise.all(Object.entries(points).map(play));
    await areSound(...Object.keys(points));
  });

  it('a trainer that was frozen in a transaction until it timed out continues if no other trainer took over', async () => {
    const run = 'aged';
    const point = 'trainer.commit.produce.after';
    await world.start({}, ...workerOf(run));
    const frozen = await world.start({ TURNSTREAM_CRASH_AT: `trainer.step.trained:2,${point}:freeze` }, ...trainerOf(run));
    await expect.poll(() => frozen.output(), patience).toContain(`crash point ${point}: SIGSTOP`);
    await untilHeartbeat(run, TRANSACTION_MS + 4_000);
    frozen.signal('SIGCONT');
    await frozen.until(atStep(4));
    expect(await expiriesOf(run)).toEqual([]);
    await areSound(run);
  });
});
