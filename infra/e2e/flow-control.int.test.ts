// Outages of ClickHouse and Kafka during a real run: roles report what they wait for, buffers stay within their limits, and everything
// catches up.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntilDrained } from '../app/open/drain.ts';
import { sharedLibsDir } from '../testing/kafka.ts';
import { silentLogger } from '../testing/logger.ts';
import { cleanEnv, command, program } from '../testing/up.ts';
import { outageRoles, startOutageWorld, steady, until, type OutageRole, type OutageWorld } from './outage-world.ts';

/** Number of steps that are trained while ClickHouse is down. */
const OUTAGE_STEPS = 3;
/** The number of turns must stay the same for this long while Kafka is down. */
const OUTAGE_MS = 8_000;
/** Generous, because the machine may be busy. */
const WAIT_MS = 120_000;
const START_MS = 300_000;
const CONCURRENCY = 16;
/** The number of events that a worker with this concurrency may buffer. */
const EVENTS_BOUND = 1_000;
const SINK_BYTES_BOUND = 64_000_000;

describe('flow control', { timeout: 600_000 }, () => {
  let dir = '';
  let world: OutageWorld;
  let starting: Promise<OutageWorld> | undefined;

  const role = (name: OutageRole) => world.roles[name];
  const allReady = (): Promise<void> =>
    until('every role is ready', WAIT_MS, async () => (await Promise.all(outageRoles.map((name) => role(name).ready()))).every(Boolean));
  const waits = (name: OutageRole): Promise<void> =>
    until(`the ${name} waits`, WAIT_MS, async () => (await role(name).says()).state === 'waiting' && !(await role(name).ready()));
  const step = async (): Promise<number> => (await role('trainer').says()).figures['step'] ?? 0;
  const trains = async (): Promise<void> => {
    const before = await step();
    await until('another step is trained', WAIT_MS, async () => (await step()) > before);
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'turnstream-flow-'));
    starting = startOutageWorld({
      ...{ dir, program, run: 'flow', logger: silentLogger, base: cleanEnv({}), libsDir: sharedLibsDir },
      env: {
        TURNSTREAM_GROUP_SIZE: '4',
        TURNSTREAM_BATCH_GROUPS: '4',
        TURNSTREAM_WORKER_CONCURRENCY: String(CONCURRENCY),
        TURNSTREAM_LOG_LEVEL: 'warn',
      },
    });
    world = await starting;
    await allReady();
  }, START_MS);
  afterAll(async () => {
    const started = await starting?.catch(() => undefined);
    await started?.close();
    await rm(dir, { recursive: true, force: true });
  }, START_MS);

  it('keeps training while ClickHouse is down, and stores everything afterward', async () => {
    await trains();
    world.clickhouse.set('refuse', 'everyone');
    await waits('warehouse');
    expect((await role('warehouse').says()).detail).not.toBe('');
    for (let steps = 0; steps < OUTAGE_STEPS; steps += 1) await trains();
    expect(await role('worker').ready()).toBe(true);
    expect(await role('trainer').ready()).toBe(true);
    expect(await role('warehouse').metric('turnstream_sink_buffered_bytes')).toBeLessThanOrEqual(SINK_BYTES_BOUND * 1.5);
    world.clickhouse.set('pass', 'everyone');
    await allReady();
    expect(await waitUntilDrained(world.config, silentLogger, AbortSignal.timeout(WAIT_MS))).toBe(true);
  });

  it('pauses agents and the trainer while Kafka is down', async () => {
    world.kafka.set('refuse', 'everyone');
    await Promise.all(outageRoles.map(waits));
    // agents pause when the worker's buffer is full, and no new ones start
    const turns = steady(OUTAGE_MS, async () => (await role('worker').says()).figures['turns_total']);
    await until('no more turns are taken', WAIT_MS, turns);
    const running = (await role('worker').says()).figures['running'] ?? 0;
    expect(running).toBeLessThanOrEqual(CONCURRENCY);
    expect(await role('worker').metric('turnstream_worker_events_waiting')).toBeLessThanOrEqual(EVENTS_BOUND + CONCURRENCY + 1);
    world.kafka.set('pass', 'everyone');
    await allReady();
    await trains();
    for (const name of outageRoles) expect(role(name).alive(), name).toBe(true);
    expect(await waitUntilDrained(world.config, silentLogger, AbortSignal.timeout(WAIT_MS))).toBe(true);
    const audit = await command(world.env, 'audit', '--wait', '60');
    expect(audit, `${audit.out}${audit.error}`.slice(-2_000)).toMatchObject({ code: 0 });
  });
});
