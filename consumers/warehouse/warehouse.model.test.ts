import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import { randomEvents, seeded } from '../../infra/testing/events.ts';
import { GROUP, running, setUpWarehouse, ticks, type Port, type Trap, WarehouseWorld } from './warehouse.testing.ts';

setUpWarehouse();

interface WarehouseStep {
  readonly do: 'kill' | 'freeze' | 'expire' | 'outage' | 'tear' | 'forget' | 'join' | 'abort';
  readonly port: Port;
  readonly when: 'before' | 'after';
  readonly calls: number;
  readonly events: number;
  readonly batchRecords: number;
}

const stepArbitrary: fc.Arbitrary<WarehouseStep> = fc.record({
  do: fc.constantFrom('kill', 'kill', 'freeze', 'expire', 'outage', 'tear', 'forget', 'join', 'abort'),
  port: fc.constantFrom('commit', 'insert', 'insert', 'append'),
  when: fc.constantFrom('before', 'after'),
  calls: fc.nat({ max: 5 }),
  events: fc.integer({ min: 1, max: 25 }),
  batchRecords: fc.integer({ min: 1, max: 12 }),
});

/** Plays steps: each appends events, and most trigger a fault while the warehouse stores them. */
class Schedule {
  readonly #world: WarehouseWorld;
  readonly #random: () => number;
  #thaw: (() => void)[] = [];

  constructor(world: WarehouseWorld, seed: number) {
    this.#world = world;
    this.#random = seeded(seed);
    world.store.beforeInsert = () => ticks(2);
    world.store.afterInsert = () => ticks(2);
  }

  async play(steps: readonly WarehouseStep[]): Promise<void> {
    for (const step of steps) {
      if (step.do === 'join' || running.length === 0) await this.#world.begin({ batchRecords: step.batchRecords });
      if (step.do === 'abort') this.#world.log.appendAborted('training', 0, 2);
      await this.#strike(step);
      if (this.#random() < 0.5) this.#thawAll();
    }
    this.#thawAll();
  }

  async #strike(step: WarehouseStep): Promise<void> {
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

  #trapOf({ do: what, port, when, calls }: WarehouseStep): Trap | undefined {
    const { log } = this.#world;
    const springs: Partial<Record<WarehouseStep['do'], Trap['spring']>> = {
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

describe('the warehouse', () => {
  it('stores every record exactly once under any schedule of kills, freezes, rebalances, and outages', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 3, maxLength: 14 }), fc.nat(), async (steps, seed) => {
        const world = new WarehouseWorld(5);
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
