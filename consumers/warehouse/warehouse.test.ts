import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import type { EventTopic } from '../../schemas/generated/events.ts';
import { PlatformError } from '../../streams/core/errors.ts';
import type { EventReader, EventWriter, GroupConsumer, GroupSession, Store } from '../../streams/core/ports.ts';
import { noMetrics, type RoleStatus } from '../../streams/core/telemetry.ts';
import { randomEvent, randomEvents, outgoing, seeded } from '../../infra/testing/events.ts';
import { codecReader } from '../../infra/testing/codec-reader.ts';
import { actualRows, expectedRows } from '../../infra/testing/exactly-once.ts';
import { createRecordingLogger } from '../../infra/testing/logger.ts';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { MemoryStore } from '../../infra/testing/memory-store.ts';
import { warehouseTopics } from './rows/tables.ts';
import { createWarehouse, lateTypes, type Warehouse, type WarehouseOptions } from './warehouse.ts';
import { systemClock } from '../../infra/lifecycle/clock.ts';

const GROUP = 'memory.warehouse';
const running: Warehouse[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((warehouse) => warehouse.stop()));
});

interface Life {
  readonly warehouse: Warehouse;
  readonly statuses: RoleStatus[];
  readonly lines: ReturnType<typeof createRecordingLogger>['lines'];
  /** From now on, none of its actions has any effect, and the group notices. */
  kill(): void;
}

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 10_000, interval: 2 });

class World {
  readonly log: MemoryLog;
  readonly store = new MemoryStore();
  readonly reader: EventReader;
  readonly traps: Trap[] = [];
  /** How far the clock is advanced for a frozen process, beyond any session timeout of its group. */
  frozenMs = 0;

  constructor(batchRecords = 7) {
    this.log = new MemoryLog({ batchRecords, partitions: { rollouts: 3, tasks: 2 } });
    this.reader = codecReader(createCodec({ late: lateTypes }));
  }

  async begin(options: Partial<WarehouseOptions> = {}, reader = this.reader): Promise<Life> {
    const mortal = new Mortal(this.traps);
    const group = mortal.group(this.log.group());
    const statuses: RoleStatus[] = [];
    const logger = createRecordingLogger();
    const warehouse = createWarehouse({
      group,
      offsets: this.log.offsets,
      log: this.log.reader(),
      deadLetters: mortal.writer(this.log.writer()),
      reader,
      store: mortal.store(this.store),
      holdings: this.store.holdings(),
      clock: { ...systemClock, monotonic: () => performance.now() + this.frozenMs },
      logger,
      metrics: noMetrics,
      report: (status) => statuses.push(status),
      options: { group: GROUP, producer: 'warehouse/test', batchRecords: 10, maxWaitMs: 2, retryMs: { min: 1, max: 2 }, ...options },
    });
    running.push(warehouse);
    mortal.leave = () => {
      running.splice(running.indexOf(warehouse), 1);
      void group.close();
      void warehouse.stop();
    };
    await warehouse.start();
    return {
      warehouse,
      statuses,
      lines: logger.lines,
      kill: () => {
        mortal.die();
      },
    };
  }

  /** Waits until everything in the log is committed. */
  async drained(): Promise<void> {
    await vi.waitFor(
      async () => {
        for (const topic of warehouseTopics) {
          for (const { partition, offset } of await this.log.offsets.fetch(GROUP, topic)) {
            const last = this.log.records(topic).findLast((record) => record.partition === partition);
            if (last !== undefined) expect(offset, `${topic}/${partition}`).toBeGreaterThan(last.offset);
          }
        }
      },
      { timeout: 10_000, interval: 1 },
    );
  }

  expectExactlyOnce(): void {
    const records = warehouseTopics.flatMap((topic) => this.log.records(topic));
    expect(actualRows(this.store.tables)).toEqual(expectedRows(records, codecReader(this.log.codec)));
  }
}

type Port = 'commit' | 'insert' | 'append';

/** Something that happens to a process at one of its calls. */
interface Trap {
  readonly port: Port;
  readonly when: 'before' | 'after';
  /** Number of calls that pass first. */
  left: number;
  readonly spring: (process: Mortal) => Promise<void> | void;
}

/** Ports of a process that may be killed or frozen at any call; once it is dead, no call has an effect or returns. */
class Mortal {
  leave: () => void = () => undefined;
  #dead = false;
  readonly #traps: Trap[];

  constructor(traps: Trap[]) {
    this.#traps = traps;
  }

  die(): void {
    this.#dead = true;
    this.leave();
  }

  async #call<T>(port: Port, work: () => Promise<T>): Promise<T> {
    await this.#at(port, 'before');
    const value = await work();
    await this.#at(port, 'after');
    return value;
  }

  async #at(port: Port, when: Trap['when']): Promise<void> {
    const index = this.#traps.findIndex((trap) => trap.port === port && trap.when === when);
    const trap = this.#traps[index];
    if (!this.#dead && trap !== undefined && (trap.left -= 1) < 0) {
      this.#traps.splice(index, 1);
      await trap.spring(this);
    }
    if (this.#dead) await new Promise(() => undefined);
  }

  store(store: MemoryStore): Store {
    return {
      database: store.database,
      ping: () => store.ping(),
      query: () => store.query(),
      stream: () => store.stream(),
      command: (sql) => this.#call('insert', () => store.command(sql)),
      insert: (table, rows, as) => this.#call('insert', () => store.insert(table, rows, as)),
      close: () => store.close(),
    };
  }

  writer(writer: EventWriter): EventWriter {
    return { ...writer, append: (events) => this.#call('append', () => writer.append(events)) };
  }

  group(group: GroupConsumer): GroupConsumer {
    const session = (inner: GroupSession): GroupSession => ({
      commit: (positions) => this.#call('commit', () => inner.commit(positions)),
      heartbeat: () => inner.heartbeat(),
      isOver: () => inner.isOver(),
    });
    return {
      ...group,
      start: (options) =>
        group.start({
          ...options,
          onAssigned: async (assigned, inner) => options.onAssigned?.(assigned, session(inner)) ?? [],
          onBatch: async (batch, inner) => options.onBatch(batch, session(inner)),
        }),
    };
  }
}

describe('the warehouse', () => {
  it('stores every record of every topic once', async () => {
    const world = new World();
    await world.log.writer().append(randomEvents(400, seeded(1)));
    const { statuses } = await world.begin();
    await world.drained();
    world.expectExactlyOnce();
    const stored = [...world.store.tables.values()].flat().length;
    await eventually(() => {
      expect(statuses.at(-1)).toMatchObject({ state: 'live', detail: '', figures: { lag: 0, rows_total: stored } });
    });
  });

  it('passes the markers and the remains of transactions', async () => {
    const world = new World();
    const writer = await world.log.transactional('t');
    await writer.commit({ events: randomEvents(20, seeded(2)) });
    world.log.appendAborted('rollouts', 1, 30);
    await writer.commit({ events: randomEvents(20, seeded(3)) });
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
  });

  it('stores a turn before a task that came with it', async () => {
    const world = new World();
    const random = seeded(6);
    const [task, turn] = [randomEvent('TrajectoryRequested', random), randomEvent('TurnRecorded', random)];
    await world.log.writer().append([outgoing('TrajectoryRequested', task), outgoing('TurnRecorded', turn)]);
    await world.begin({ maxWaitMs: 100 });
    await world.drained();
    expect(world.store.asked.map((token) => token.split('-').at(-1))).toEqual(['turns', 'tasks']);
  });

  it('stores what it has gathered when it is stopped', async () => {
    const world = new World();
    await world.log.writer().append(randomEvents(50, seeded(4)));
    const { warehouse } = await world.begin({ maxWaitMs: 60_000, batchRecords: 1_000 });
    await world.log.settled();
    expect(world.store.asked).toEqual([]);
    await warehouse.stop();
    await world.drained();
    world.expectExactlyOnce();
    await expect(warehouse.finished).resolves.toBeUndefined();
  });
});

describe('bad records', () => {
  const topics: readonly EventTopic[] = warehouseTopics.filter((topic) => topic !== 'dead-letters');

  it.each(topics)('end in dead-letters with their bytes and the reason, and %s goes on', async (topic) => {
    const world = new World();
    const foreign = world.log.codec.encode('DeadLettered', randomEvent('DeadLettered', seeded(9)));
    const values = [null, Buffer.from('{"json":true}'), Buffer.from([0, 1, 2, 3, 4, 5]), foreign.subarray(0, 12), foreign];
    const bad = world.log.appendRaw(
      topic,
      values.map((value) => ({ key: 'k', value, partition: 0, headers: { 'run-id': 'run-a', odd: Buffer.from([255]) } })),
    );
    await world.log.writer().append(randomEvents(30, seeded(5)));
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
    const letters = world.store.rows('dead_letter_events').filter((row) => row['step'] === 'warehouse');
    expect(letters.map((row) => row['reason'])).toEqual(['empty', 'not_framed', 'unknown_schema', 'undecodable', 'wrong_topic']);
    expect(letters.map((row) => row['original_offset'])).toEqual(bad.map(({ offset }) => offset));
    expect(letters.map((row) => row['original_value_base64'])).toEqual(values.map((value) => value?.toString('base64') ?? ''));
    expect(letters[1]).toMatchObject({ original_topic: topic, has_value: true, run_id: 'run-a', header_names: ['run-id', 'odd'] });
    expect(letters[0]).toMatchObject({ has_value: false, original_value_bytes: 0, header_values_base64: ['cnVuLWE=', '/w=='] });
  });

  it('on dead-letters itself become rows and no further dead letters', async () => {
    const world = new World();
    world.log.appendRaw('dead-letters', [
      { key: null, value: Buffer.from('nonsense') },
      { key: null, value: null },
    ]);
    await world.begin();
    await world.drained();
    expect(world.log.records('dead-letters')).toHaveLength(2);
    expect(world.store.rows('dead_letter_events')).toMatchObject([
      { original_topic: 'dead-letters', original_offset: 0, reason: 'not_framed', _topic: 'dead-letters', _offset: 0 },
      { original_topic: 'dead-letters', original_offset: 1, reason: 'empty', _topic: 'dead-letters', _offset: 1 },
    ]);
  });

  it('that are too large are cut, and say so', async () => {
    const world = new World();
    world.log.appendRaw('tasks', [
      { key: 'k'.repeat(200_000), partition: 0, value: Buffer.alloc(500, 7), headers: { h: Buffer.alloc(200_000) } },
    ]);
    await world.begin({ deadLetterBytes: 100 });
    await world.drained();
    const [row] = world.store.rows('dead_letter_events');
    expect(row?.['original_value_bytes']).toBe(100);
    expect(row?.['error']).toMatch(
      /value cut to 100 of 500 bytes \(sha256 [0-9a-f]{64}\); key cut to 100000 of 200000 bytes; 1 headers left out/,
    );
  });

  it('that ClickHouse refuses end in dead-letters, and the others of their range go in', async () => {
    const world = new World();
    world.store.refuses = (table, row) => table === 'turns' && row['turn'] === 666;
    const random = seeded(6);
    const turn = (number: number) => outgoing('TurnRecorded', randomEvent('TurnRecorded', random, { turn: number, group_id: 'g' }));
    await world.log.writer().append([turn(1), turn(666), turn(2), turn(666), turn(3)]);
    await world.begin();
    await world.drained();
    expect(world.store.rows('turns').map((row) => row['turn'])).toEqual([1, 2, 3]);
    const letters = world.store.rows('dead_letter_events');
    expect(letters.map((row) => row['reason'])).toEqual(['refused', 'refused']);
    expect(letters[0]?.['event_id']).toMatch(/^rollouts\/\d\/1\/turns$/);
    expect(letters[0]?.['error']).toMatch(/constraint is violated/);
    expect(world.store.copies()).toEqual([]);
  });

  it('that the table of dead letters refuses keep their place there', async () => {
    const world = new World();
    world.store.refuses = (table, row) => table === 'dead_letter_events' && row['step'] === 'hostile';
    await world.log.writer().append([outgoing('DeadLettered', randomEvent('DeadLettered', seeded(7), { step: 'hostile' }))]);
    await world.begin();
    await world.drained();
    expect(world.log.records('dead-letters')).toHaveLength(1);
    expect(world.store.rows('dead_letter_events')).toMatchObject([{ reason: 'refused', original_topic: 'dead-letters', _offset: 0 }]);
  });
});

describe('trouble', () => {
  it('waits while the store is away, keeps its memory bounded, says so, and loses nothing', async () => {
    const world = new World();
    let away = true;
    world.store.beforeInsert = () => {
      if (away) throw new PlatformError('STORE_FULL', 'inserting into turns: no space left');
    };
    const { statuses, lines } = await world.begin({ maxBufferedBytes: 2_000, batchBytes: 500 });
    await world.log.writer().append(randomEvents(600, seeded(8)));
    await eventually(() => {
      expect(statuses.at(-1)).toMatchObject({ state: 'waiting', detail: expect.stringMatching(/no space left/) as string });
    });
    const before = await world.log.offsets.fetch(GROUP, 'rollouts');
    expect(before.every(({ offset }) => offset <= 0)).toBe(true);
    away = false;
    await world.drained();
    world.expectExactlyOnce();
    await eventually(() => {
      expect(statuses.at(-1)).toMatchObject({ state: 'live', detail: '' });
    });
    expect(lines.filter((line) => line.level === 'warn')).toHaveLength(1);
  });

  it("ends with the error when the store refuses for a reason that is no row's fault", async () => {
    const world = new World();
    world.store.beforeInsert = () => {
      throw new PlatformError('STORE_REFUSED', 'inserting into turns: unknown table', { context: { clickhouseCode: 60 } });
    };
    await world.log.writer().append(randomEvents(5, seeded(9)));
    const { warehouse, statuses } = await world.begin();
    await expect(warehouse.finished).rejects.toMatchObject({ code: 'STORE_REFUSED' });
    expect(statuses.at(-1)).toMatchObject({ state: 'failed' });
    expect((await world.log.offsets.fetch(GROUP, 'rollouts')).every(({ offset }) => offset <= 0)).toBe(true);
  });

  it('stops at once during an outage', async () => {
    const world = new World();
    world.store.beforeInsert = () => {
      throw new PlatformError('STORE_UNAVAILABLE', 'inserting: nobody answers');
    };
    await world.log.writer().append(randomEvents(5, seeded(10)));
    const { warehouse, statuses } = await world.begin({ retryMs: { min: 60_000, max: 60_000 } });
    await eventually(() => {
      expect(statuses.at(-1)?.state).toBe('waiting');
    });
    await warehouse.stop();
    expect(statuses.at(-1)?.state).toBe('stopping');
  });

  it('asks an absent registry again, with heartbeats', async () => {
    const world = new World();
    let calls = 0;
    const reader: EventReader = {
      read: async (record) => {
        calls += 1;
        if (calls < 4) throw new PlatformError('REGISTRY_UNAVAILABLE', 'asking for schema 7');
        return world.reader.read(record);
      },
    };
    await world.log.writer().append(randomEvents(5, seeded(11)));
    await world.begin({}, reader);
    await world.drained();
    world.expectExactlyOnce();
  });

  it('does not start while the store is away, and gives up when it is told to', async () => {
    const world = new World();
    world.store.query = async () => {
      throw new PlatformError('STORE_UNAVAILABLE', 'asking: nobody answers');
    };
    const abort = new AbortController();
    const log = world.log;
    const warehouse = createWarehouse({
      group: log.group(),
      offsets: log.offsets,
      log: log.reader(),
      deadLetters: log.writer(),
      reader: world.reader,
      store: world.store,
      holdings: world.store.holdings(),
      clock: systemClock,
      logger: createRecordingLogger(),
      metrics: noMetrics,
      report: () => undefined,
      options: { group: GROUP, producer: 'warehouse/test', batchRecords: 10, maxWaitMs: 2, retryMs: { min: 1, max: 1 } },
    });
    const starting = warehouse.start(abort.signal);
    abort.abort(new Error('told to'));
    await expect(starting).rejects.toThrow('told to');
  });
});

describe('exactly once', () => {
  it('leaves what went in before a crash as it is, and does not send it again', async () => {
    const world = new World();
    let hang = true;
    world.store.afterInsert = () => (hang ? new Promise(() => undefined) : undefined);
    await world.log.writer().append(randomEvents(60, seeded(12), ['TurnRecorded', 'TrajectoryFinished']));
    const first = await world.begin();
    await eventually(() => {
      expect(world.store.asked).not.toEqual([]);
    });
    const [token] = world.store.asked;
    first.kill();
    hang = false;
    await world.begin({ batchRecords: 3 });
    await world.drained();
    expect(world.store.asked.filter((asked) => asked === token)).toHaveLength(1);
    world.expectExactlyOnce();
  });

  it('repeats what did not go in under the same token, which ends the insert that is still under way', async () => {
    const world = new World();
    world.store.remembersTokens = false;
    let thaw = (): void => undefined;
    const frozen = new Promise<void>((resolve) => (thaw = resolve));
    world.store.beforeInsert = () => frozen;
    await world.log.writer().append(randomEvents(60, seeded(12), ['TurnRecorded']));
    const first = await world.begin();
    await eventually(() => {
      expect(world.store.asked).not.toEqual([]);
    });
    const [token] = world.store.asked;
    first.kill();
    world.store.beforeInsert = () => undefined;
    await world.begin();
    await world.drained();
    expect(world.store.asked.filter((asked) => asked === token)).toHaveLength(2);
    thaw();
    await ticks(20);
    world.expectExactlyOnce();
  });

  it('lets each of two members repeat its own part of what one has left', async () => {
    const world = new World();
    world.store.remembersTokens = false;
    world.store.beforeInsert = () => new Promise(() => undefined);
    await world.log.writer().append(randomEvents(90, seeded(16), ['TurnRecorded']));
    const first = await world.begin({ batchRecords: 1_000, maxWaitMs: 60_000 });
    await world.log.settled();
    void first.warehouse.stop();
    await eventually(() => {
      expect(world.store.asked).toHaveLength(1);
    });
    const announcements = new Set((await world.log.offsets.fetch(GROUP, 'rollouts')).map(({ metadata }) => metadata));
    expect([...announcements]).toEqual([expect.stringMatching(/^v2:0:0:\d+,1:0:\d+,2:0:\d+$/)]);
    first.kill();
    world.store.beforeInsert = () => undefined;
    await Promise.all([world.begin({ batchRecords: 3 }), world.begin({ batchRecords: 4 })]);
    await world.drained();
    world.expectExactlyOnce();
  });

  it('inserts only what is missing of an insert that broke off, on tables with and without memory of tokens', async () => {
    for (const remembers of [true, false]) {
      const world = new World();
      world.store.remembersTokens = remembers;
      let tears = 2;
      world.store.tears = () => (tears -= 1) >= 0;
      await world.log.writer().append(randomEvents(200, seeded(18)));
      await world.begin();
      await world.drained();
      expect(tears).toBeLessThan(0);
      world.expectExactlyOnce();
    }
  });

  it('goes on behind what the tables hold when the broker has forgotten its offsets', async () => {
    const world = new World();
    world.store.remembersTokens = false;
    await world.log.writer().append(randomEvents(300, seeded(19)));
    const { warehouse } = await world.begin();
    await world.drained();
    await warehouse.stop();
    world.log.forgetOffsets(GROUP);
    await world.log.writer().append(randomEvents(100, seeded(20)));
    await world.begin({ batchRecords: 13 });
    await world.drained();
    world.expectExactlyOnce();
  });

  it('stores rows under another token when the one of their range was used for rows that are gone', async () => {
    const world = new World();
    const written = await world.log.writer().append(randomEvents(30, seeded(21), ['TurnRecorded']));
    const { warehouse } = await world.begin({ maxWaitMs: 60_000 });
    await world.log.settled();
    await warehouse.stop();
    world.store.tables.clear();
    const from = [...new Set(written.map(({ partition }) => partition))].map((partition) => {
      const records = world.log.records('rollouts').filter((record) => record.partition === partition);
      return { topic: 'rollouts' as const, partition, offset: 0, metadata: `v1:0:${records.at(-1)!.offset}` };
    });
    world.log.setOffsets(GROUP, from);
    await world.begin();
    await world.drained();
    world.expectExactlyOnce();
  });

  it('asks for its partitions again when a commit is refused and no rebalance follows', async () => {
    const world = new World();
    world.traps.push({
      port: 'commit',
      when: 'before',
      left: 1,
      spring: () => {
        throw new PlatformError('GROUP_FENCED', 'refused by a test');
      },
    });
    await world.begin();
    await world.log.writer().append(randomEvents(60, seeded(14)));
    await eventually(() => {
      expect(world.traps).toEqual([]);
    });
    await world.log.writer().append(randomEvents(60, seeded(15)));
    await world.drained();
    world.expectExactlyOnce();
  });

  it('survives any schedule of kills, freezes, rebalances and outages', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 3, maxLength: 14 }), fc.nat(), async (steps, seed) => {
        const world = new World(5);
        world.store.remembersTokens = false;
        await new Schedule(world, seed).play(steps);
        await world.begin();
        await world.drained();
        world.expectExactlyOnce();
        const bad = world.log.records('rollouts').filter((record) => record.value?.toString() === 'bad');
        const letters = new Set(world.store.rows('dead_letter_events').map((row) => row['event_id']));
        for (const record of bad) expect(letters).toContain(`rollouts/${record.partition}/${record.offset}`);
        await Promise.all(running.splice(0).map((warehouse) => warehouse.stop()));
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});

interface Step {
  readonly do: 'kill' | 'freeze' | 'expire' | 'outage' | 'tear' | 'forget' | 'join' | 'abort';
  readonly port: Port;
  readonly when: 'before' | 'after';
  readonly calls: number;
  readonly events: number;
  readonly batchRecords: number;
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('kill', 'kill', 'freeze', 'expire', 'outage', 'tear', 'forget', 'join', 'abort'),
  port: fc.constantFrom('commit', 'insert', 'insert', 'append'),
  when: fc.constantFrom('before', 'after'),
  calls: fc.nat({ max: 5 }),
  events: fc.integer({ min: 1, max: 25 }),
  batchRecords: fc.integer({ min: 1, max: 12 }),
});

const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Plays steps: each appends some work and triggers a fault in the middle of it. */
class Schedule {
  readonly #world: World;
  readonly #random: () => number;
  #thaw: (() => void)[] = [];

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#random = seeded(seed);
    world.store.beforeInsert = () => ticks(2);
    world.store.afterInsert = () => ticks(2);
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.do === 'join' || running.length === 0) await this.#world.begin({ batchRecords: step.batchRecords });
      if (step.do === 'abort') this.#world.log.appendAborted('training', 0, 2);
      await this.#strike(step);
      if (this.#random() < 0.5) this.#thawAll();
    }
    this.#thawAll();
  }

  async #strike(step: Step): Promise<void> {
    const { log, traps } = this.#world;
    const trap = this.#trapOf(step);
    if (trap !== undefined) traps.push(trap);
    log.appendRaw('rollouts', this.#random() < 0.3 ? [{ key: 'x', value: Buffer.from('bad') }] : []);
    await log.writer().append(randomEvents(step.events, this.#random));
    for (let turn = 0; turn < 100 && trap !== undefined && traps.includes(trap); turn += 1) await ticks(2);
    traps.splice(0);
  }

  #thawAll(): void {
    if (this.#thaw.length > 0) this.#world.frozenMs += 10_000;
    for (const thaw of this.#thaw.splice(0)) thaw();
  }

  #trapOf({ do: what, port, when, calls }: Step): Trap | undefined {
    const { log } = this.#world;
    const springs: Partial<Record<Step['do'], Trap['spring']>> = {
      kill: (process) => {
        process.die();
      },
      freeze: async (process) => {
        process.leave();
        await new Promise<void>((resolve) => this.#thaw.push(resolve));
      },
      expire: () => {
        log.expireMembers(GROUP);
      },
      // A broker expires offsets only for a group without members.
      forget: (process) => {
        process.die();
        if (running.length === 0) log.forgetOffsets(GROUP);
      },
      tear: () => {
        let torn = false;
        this.#world.store.tears = () => !torn && (torn = true);
      },
      outage: () => {
        throw new PlatformError('STORE_UNAVAILABLE', 'nobody answers');
      },
    };
    const spring = springs[what];
    return spring === undefined ? undefined : { port, when, left: calls, spring };
  }
}
