// Duplicate processes: two trainers of one run, two warehouses of one group; and a group that Kafka has deleted.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { connectLog, groupsOf, type LogConnection } from '../app/open/connections.ts';
import { waitUntilDrained } from '../app/open/drain.ts';
import { kafkajs } from '../kafka/patches/kafkajs.ts';
import { randomEvents, seeded } from '../testing/events.ts';
import { silentLogger } from '../testing/logger.ts';
import type { RoleProcess } from '../testing/role-process.ts';
import { openRolesWorld, type RolesWorld } from '../testing/roles-world.ts';
import { command } from '../testing/up.ts';
import { readFacts } from './torture/facts.ts';
import { judgeRun } from './torture/oracle.ts';

const patience = { timeout: 60_000, interval: 50 };

describe('duplicate processes', () => {
  let world: RolesWorld;
  let log: LogConnection;
  const start: RolesWorld['start'] = (extra, ...args) => world.start(extra, ...args);

  beforeAll(async () => {
    world = await openRolesWorld({ TURNSTREAM_SINK_BATCH_ROWS: '80', TURNSTREAM_SILENCE_MS: '3000' });
    log = await connectLog({ config: world.config, clientId: 'test', logger: silentLogger });
  });
  afterEach(() => world.killRoles());
  afterAll(async () => {
    await log.close();
    await world.close();
  });

  async function stop(...stopped: readonly RoleProcess[]): Promise<void> {
    for (const role of stopped) {
      role.signal('SIGTERM');
      expect(await role.exited).toEqual({ code: 143, signal: null });
    }
  }

  const judged = async (run: string) => judgeRun((await readFacts(log.kafka.reader(), createCodec(), run)).facts);
  const trainerOf = (run: string) => ['trainer', '--run', run] as const;
  const workerOf = (run: string) => ['worker', '--run', run, '--name', `worker-${run}`] as const;
  const atStep = (step: number) => (status: { readonly figures: Readonly<Record<string, number>> }) =>
    (status.figures['step'] ?? 0) >= step;

  it('the second trainer of a run fences the first, which reports it, and the run continues', async () => {
    const run = 'two-trainers';
    await start({}, ...workerOf(run));
    const first = await start({}, ...trainerOf(run));
    await first.until(atStep(2));
    const second = await start({}, ...trainerOf(run));
    expect(await first.exited, first.output()).toEqual({ code: 3, signal: null });
    expect(first.output()).toContain('PRODUCER_FENCED');
    expect(first.output()).toMatch(/another (trainer|writer).* took over/);
    await second.until(atStep(4));
    await stop(second);
    const verdict = await judged(run);
    expect(verdict.problems).toEqual([]);
    expect(verdict.steps).toBeGreaterThanOrEqual(4);
    expect(await command(world.env, 'ledger', 'verify', '--run', run)).toMatchObject({ code: 0 });
  });

  it.each(['sink.intent.after', 'sink.insert.mid', 'sink.commit.before'])(
    'a partition that moves while its warehouse is frozen at %s neither loses nor duplicates a row',
    async (point) => {
      const append = async (seed: number): Promise<void> => {
        await (await log.kafka.writer()).append(randomEvents(400, seeded(seed)));
      };
      await append(1);
      const frozen = await start({ TURNSTREAM_CRASH_AT: `${point}:2:freeze` }, 'warehouse');
      await expect.poll(() => frozen.output(), patience).toContain(`crash point ${point}: SIGSTOP`);
      await append(2);
      await start({}, 'warehouse');
      expect(await waitUntilDrained(world.config, silentLogger, AbortSignal.timeout(60_000))).toBe(true);
      const before = frozen.statuses().length;
      frozen.signal('SIGCONT');
      await append(3);
      await expect.poll(() => frozen.statuses().length, patience).toBeGreaterThan(before + 3);
      await append(4);
      expect(await waitUntilDrained(world.config, silentLogger, AbortSignal.timeout(60_000))).toBe(true);
      expect(frozen.statuses().at(-1)?.state).toBe('live');
      const audited = await command(world.env, 'audit', '--json');
      expect(audited, audited.out.slice(0, 2_000) + audited.error).toMatchObject({ code: 0 });
      await stop(...world.running());
    },
  );

  it('workers whose offsets Kafka has deleted run nothing a second time', async () => {
    const run = 'forgotten';
    const early = [await start({}, ...trainerOf(run)), await start({}, ...workerOf(run))];
    await early[0]!.until(atStep(3));
    await stop(...early);
    const admin = new kafkajs.Kafka({ brokers: [...world.config.kafkaBrokers], logLevel: kafkajs.logLevel.NOTHING }).admin();
    await admin.connect();
    await expect
      .poll(
        () =>
          admin.deleteGroups([groupsOf(world.config.namespace).workers(run)]).then(
            () => true,
            () => false,
          ),
        patience,
      )
      .toBe(true);
    await admin.disconnect();

    const worker = await start({}, ...workerOf(run));
    await worker.until(({ state, detail }) => state === 'waiting' && detail.includes('where its tasks begin'));
    const { steps } = await judged(run);
    const last = await start({}, ...trainerOf(run), '--steps', String(steps + 3));
    expect(await last.exited, last.output().slice(-2_000)).toEqual({ code: 0, signal: null });
    expect((await judged(run)).problems).toEqual([]);
    const twice = [...(await startsOf(run))].filter(([, workers]) => workers.size > 1);
    expect(twice).toEqual([]);
  });

  /** Workers that started an attempt. */
  async function startsOf(run: string): Promise<ReadonlyMap<string, Set<string>>> {
    const starts = new Map<string, Set<string>>();
    await log.kafka.reader().readToEnd('rollouts', {
      onBatch: async ({ records }) => {
        for (const record of records) {
          const read = await log.events.read(record);
          if (!read.ok || read.value.type !== 'TrajectoryStarted' || read.value.event.run_id !== run) continue;
          const { trajectory_id: id, attempt, worker_id: worker } = read.value.event;
          const workers = starts.get(`${id}/${attempt}`) ?? new Set();
          starts.set(`${id}/${attempt}`, workers.add(worker));
        }
      },
    });
    return starts;
  }
});
