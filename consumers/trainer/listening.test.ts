// Silence and listening time, checked against a model that knows what really happened.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requested, started } from '../../infra/testing/rollout-events.ts';
import { foldRollout, foldTask, raise } from '../../streams/run/fold.ts';
import { newRunState } from '../../streams/run/run-state.ts';
import { createListening, gapMs, lookEveryMs } from './listening.ts';
import { createLiveness } from '../../streams/trainer/liveness.ts';

const SILENCE_MS = 20_000;
const HEARTBEAT_MS = 5_000;
/** Delay before a worker writes again after Kafka comes back. */
const BACKOFF_MS = 5_000;
const TURN_MS = 200;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface ListeningStep {
  /**
   * pause: only the trainer stops. outage: Kafka is unavailable, nobody writes or reads. lag: the trainer cannot fold, and records
   * accumulate. suspend: every process stops, as on a machine that sleeps.
   */
  readonly kind: 'pass' | 'pause' | 'outage' | 'lag' | 'suspend';
  readonly ms: number;
}

/** One worker with one attempt, one partition, and a trainer that checks it, in simulated time. */
class ListeningWorld {
  readonly state = newRunState('run-a');
  readonly #log: number[] = [];
  #nowMs = 1;
  #nextBeatMs = 1;
  #isAway = false;
  #folds = true;
  #diedMs = Infinity;
  readonly #liveness = createLiveness({ silenceMs: SILENCE_MS });
  readonly #listening = createListening({
    watch: { bounds: async () => (this.#isAway ? Promise.reject(new Error('away')) : [{ partition: 0, first: 0, end: this.#log.length }]) },
    positions: this.state.rolloutPositions,
    monotonic: () => this.#nowMs,
    silenceMs: SILENCE_MS,
    onInterrupted: (atMs) => {
      this.#liveness.live(atMs);
    },
  });

  constructor() {
    foldTask(this.state, { ...requested({ trajectory: 'g.0' }), max_wall_ms: 1e12 }, { partition: 0, offset: 0 });
    foldRollout(this.state, { type: 'TrajectoryStarted', event: started({ trajectory: 'g.0' }) }, { partition: 0, offset: -1 });
    this.state.rolloutPositions.set(0, 0);
    this.#liveness.live(this.#listening.now());
  }

  kill(): void {
    this.#diedMs = this.#nowMs;
  }

  /** Milliseconds until the attempt is given up; undefined if that takes longer than `ms`. */
  async run(ms: number): Promise<number | undefined> {
    for (let passed = 0; passed < ms; passed += TURN_MS) {
      this.#nowMs += TURN_MS;
      this.#write();
      if (await this.#turn()) return passed + TURN_MS;
    }
    return undefined;
  }

  async take({ kind, ms }: ListeningStep): Promise<boolean> {
    if (kind === 'pass') return (await this.run(ms)) !== undefined;
    if (kind === 'suspend') {
      this.#nowMs += ms;
      this.#nextBeatMs += ms;
    } else if (kind === 'pause') {
      const end = this.#nowMs + ms;
      for (; this.#nowMs < end; this.#nowMs += TURN_MS) this.#write();
    } else {
      this.#isAway = kind === 'outage';
      this.#folds = false;
      const expired = await this.run(ms);
      if (this.#isAway) this.#nextBeatMs = this.#nowMs + BACKOFF_MS;
      this.#isAway = false;
      this.#folds = true;
      if (expired !== undefined) return true;
    }
    // after a wake-up, the trainer runs first, before it has read anything
    return this.#turn();
  }

  #write(): void {
    if (this.#isAway || this.#nowMs < this.#nextBeatMs || this.#nowMs >= this.#diedMs) return;
    this.#log.push(this.#nowMs);
    this.#nextBeatMs = this.#nowMs + HEARTBEAT_MS;
  }

  async #turn(): Promise<boolean> {
    this.#listening.look();
    if (this.#isGivenUp()) return true;
    await settle();
    if (this.#folds) this.#fold();
    return this.#isGivenUp();
  }

  #fold(): void {
    const from = this.state.rolloutPositions.get(0) ?? 0;
    if (from < this.#log.length) this.#liveness.heard('w-0', { nowMs: this.#listening.now(), timestampMs: 0 });
    raise(this.state.rolloutPositions, { partition: 0, offset: this.#log.length - 1 });
    this.#listening.folded();
  }

  #isGivenUp(): boolean {
    return this.#listening.mayJudge() && this.#liveness.expired(this.state, this.#listening.heardUpTo).length > 0;
  }
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<ListeningStep['kind']>('pass', 'pause', 'outage', 'lag', 'suspend'),
    ms: fc.oneof(fc.integer({ min: 200, max: 8_000 }), fc.integer({ min: 8_000, max: 100_000 }), fc.constant(3_600_000)),
  }),
  { maxLength: 12 },
);

describe('a trainer that listens', () => {
  it('never gives up an attempt whose worker lives, and gives up that of a dead one in limited time', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const world = new ListeningWorld();
        for (const step of taken) if (step.ms < 3_600_000 || step.kind !== 'lag') expect(await world.take(step), step.kind).toBe(false);
        expect(await world.run(2 * SILENCE_MS)).toBeUndefined();
        world.kill();
        const gone = await world.run(3 * SILENCE_MS);
        expect(gone).toBeGreaterThanOrEqual(SILENCE_MS - HEARTBEAT_MS - 5 * TURN_MS);
        expect(gone).toBeLessThanOrEqual(SILENCE_MS + 2 * lookEveryMs(SILENCE_MS) + 2 * TURN_MS);
      }),
      { numRuns: 40 },
    );
  });

  it('does not count an outage, a pause, or a suspended machine as silence, even if the worker dies meanwhile', async () => {
    for (const kind of ['pause', 'outage', 'suspend'] as const) {
      const world = new ListeningWorld();
      await world.run(10_000);
      world.kill();
      expect(await world.take({ kind, ms: 27_000 }), kind).toBe(false);
      const gone = await world.run(3 * SILENCE_MS);
      expect(gone, kind).toBeLessThanOrEqual(SILENCE_MS + 2 * lookEveryMs(SILENCE_MS) + 2 * TURN_MS + HEARTBEAT_MS);
    }
  });

  it('counts no time before it has read what was written during it', async () => {
    let [nowMs, end] = [0, 1];
    const positions = new Map([[0, 1]]);
    const interrupted: number[] = [];
    const listening = createListening({
      ...{ positions, silenceMs: SILENCE_MS, monotonic: () => nowMs },
      watch: { bounds: async () => [{ partition: 0, first: 0, end }] },
      onInterrupted: (atMs) => void interrupted.push(atMs),
    });
    const look = async (atMs: number): Promise<number> => {
      nowMs = atMs;
      listening.look();
      await settle();
      return listening.heardUpTo;
    };
    expect(await look(1_000)).toBe(1_000);
    end = 2;
    expect(await look(2_000)).toBe(1_000);
    expect(await look(3_000)).toBe(1_000);
    positions.set(0, 2);
    listening.folded();
    expect(listening.heardUpTo).toBe(2_000);
    expect(await look(30_000)).toBe(2_000);
    expect([interrupted, listening.now(), listening.gaps]).toEqual([[3_000], 3_000, 1]);
    expect(await look(31_000)).toBe(4_000);
    expect(gapMs(SILENCE_MS)).toBe(5_000);
  });

  it('does not judge an old moment: workers that were silent then may have written since', async () => {
    let [nowMs, end] = [0, 1];
    const positions = new Map([[0, 1]]);
    const listening = createListening({
      ...{ positions, silenceMs: SILENCE_MS, monotonic: () => nowMs, onInterrupted: () => undefined },
      watch: { bounds: async () => [{ partition: 0, first: 0, end }] },
    });
    const look = async (atMs: number): Promise<readonly [number, boolean]> => {
      nowMs = atMs;
      listening.look();
      await settle();
      return [listening.heardUpTo, listening.mayJudge()];
    };
    expect(await look(1_000)).toEqual([1_000, true]);
    end = 2;
    for (const atMs of [2_000, 3_000]) expect(await look(atMs)).toEqual([1_000, true]);
    for (const atMs of [4_000, 5_000, 6_000]) expect(await look(atMs)).toEqual([1_000, false]);
    positions.set(0, 2);
    listening.folded();
    expect([listening.heardUpTo, listening.mayJudge()]).toEqual([2_000, false]);
    expect(await look(7_000)).toEqual([7_000, true]);
  });

  it('does not wait for records that retention has deleted', async () => {
    const listening = createListening({
      ...{ positions: new Map([[0, 1]]), silenceMs: SILENCE_MS, monotonic: () => 5, onInterrupted: () => undefined },
      watch: { bounds: async () => [{ partition: 0, first: 9, end: 9 }] },
    });
    listening.look();
    await settle();
    expect(listening.heardUpTo).toBe(5);
  });
});
