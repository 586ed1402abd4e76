import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Decisions } from './decisions.ts';
import { hyperOf } from './hyper.ts';
import { chunksOf, createReplay, type ReplayBufferOptions } from './replay-buffer.ts';
import { packDecisions, unpackDecisions } from './replay-codec.ts';
import { createSpill } from './replay-spill.ts';

const directory = mkdtempSync(join(tmpdir(), 'turnstream-test-replay-'));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

const feature = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constant(-0), fc.float({ noNaN: true, noDefaultInfinity: true }));
const decisionOf = (width: number) =>
  fc.integer({ min: 1, max: 5 }).chain((rows) =>
    fc.record({
      features: fc.array(feature, { minLength: rows * width, maxLength: rows * width }),
      chosen: fc.nat(rows - 1),
      logprob: fc.oneof(fc.constant(-Infinity), fc.double({ min: -50, max: 0, noNaN: true })),
      signal: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
    }),
  );
type BufferedDecision = typeof decisionOf extends (width: number) => fc.Arbitrary<infer D> ? D : never;

function flat(width: number, all: readonly BufferedDecision[]): Decisions {
  const starts = [0];
  for (const { features } of all) starts.push(starts.at(-1)! + features.length / width);
  return {
    width,
    features: Float32Array.from(all.flatMap(({ features }) => features)),
    starts: Int32Array.from(starts),
    chosen: Int32Array.from(all, ({ chosen }) => chosen),
    logprobs: Float64Array.from(all, ({ logprob }) => logprob),
    signals: Float64Array.from(all, ({ signal }) => signal),
  };
}

const batches = fc
  .integer({ min: 1, max: 70 })
  .chain((width) => fc.tuple(fc.constant(width), fc.array(decisionOf(width), { maxLength: 6 })));

describe('packed decisions', () => {
  it('come out as they went in, bit for bit, whatever part is packed', () => {
    fc.assert(
      fc.property(batches, fc.nat(), fc.nat(), ([width, all], a, b) => {
        const [from = 0, to = 0] = [a % (all.length + 1), b % (all.length + 1)].sort((one, other) => one - other);
        const wanted = flat(width, all.slice(from, to));
        const block = packDecisions(flat(width, all), from, to);
        for (const bytes of [block, Buffer.concat([Buffer.from('x'), block]).subarray(1)]) {
          const found = unpackDecisions(bytes, width);
          expect(Buffer.from(found.features.buffer).equals(Buffer.from(wanted.features.buffer))).toBe(true);
          expect(found).toEqual(wanted);
        }
      }),
    );
  });

  it('take little space for features that are zero', () => {
    const sparse = flat(64, [
      { features: Array.from({ length: 640 }, (_, at) => (at % 8 === 0 ? 1 : 0)), chosen: 0, logprob: -1, signal: 1 },
    ]);
    expect(packDecisions(sparse).byteLength).toBeLessThan(640);
  });
});

/** A trajectory with this many decisions, which all have this signal. */
const trajectory = (signal: number, decisions = 2): Decisions =>
  flat(
    3,
    Array.from({ length: decisions }, () => ({ features: [1, 0, 2], chosen: 0, logprob: -1, signal })),
  );
const packed = (...all: readonly Decisions[]) => {
  const trajectories = [0];
  for (const { chosen } of all) trajectories.push(trajectories.at(-1)! + chosen.length);
  const signals = all.flatMap((one) => [...one.signals]);
  const features = all.flatMap((one) => [...one.features]);
  const count = signals.length;
  const decisions = {
    ...{ width: 3, features: Float32Array.from(features), starts: Int32Array.from({ length: count + 1 }, (_, at) => at) },
    ...{ chosen: new Int32Array(count), logprobs: new Float64Array(count).fill(-1), signals: Float64Array.from(signals) },
  };
  return { decisions, trajectories };
};

const bytesOf = (decisions: number): number => packDecisions(trajectory(0, decisions)).byteLength;
const hyper = (changes: Partial<ReplayBufferOptions['hyper']> = {}) => ({
  replayTrajectories: 1,
  replayCapacity: 100,
  replayBytes: 0,
  ...changes,
});
const counting = (): (() => number) => {
  let at = 0;
  return () => (at = (at + 0.37) % 1);
};
const signalsIn = (drawn: readonly Decisions[]): Set<number> => new Set(drawn.map(({ signals }) => signals[0]!));

describe('the replay buffer', () => {
  it('is 100,000 trajectories, in batches of 128, ten per update, unless a run recorded otherwise', () => {
    const { replayTrajectories, replayCapacity, replaySample, replaySteps } = hyperOf('reinforce', 0);
    expect({ replayTrajectories, replayCapacity, replaySample, replaySteps }).toEqual({
      ...{ replayTrajectories: 1, replayCapacity: 100_000, replaySample: 128, replaySteps: 10 },
    });
  });

  it('keeps the newest trajectories, whole, and draws from all of them', () => {
    const replay = createReplay({ hyper: hyper({ replayCapacity: 3 }) });
    replay.add(packed(...[1, 2, 3, 4].map((signal) => trajectory(signal))));
    replay.add(packed(trajectory(5, 4), trajectory(6, 0)));
    expect(replay.units).toBe(3);
    const drawn = replay.sample(3, counting());
    expect(drawn).toHaveLength(3);
    const all = Array.from({ length: 50 }, () => replay.sample(3, counting())).flat();
    expect(signalsIn(all)).toEqual(new Set([3, 4, 5]));
    for (const { signals } of all) expect(signals).toHaveLength(signals[0] === 5 ? 4 : 2);
  });

  it('keeps single decisions in runs that did not record `replayTrajectories`', () => {
    const replay = createReplay({ hyper: hyper({ replayTrajectories: 0, replayCapacity: 3 }) });
    for (const signal of [1, 2, 3, 4]) replay.add(packed(trajectory(signal)));
    expect(replay.units).toBe(3);
    expect(replay.sample(1, () => 0)[0]!.signals).toEqual(Float64Array.of(3));
  });

  it('is bounded in bytes, and keeps the newest trajectory however large it is', () => {
    const replay = createReplay({ hyper: hyper({ replayBytes: 2 * bytesOf(2) }) });
    for (const signal of [1, 2, 3]) replay.add(packed(trajectory(signal)));
    expect(replay.units).toBe(2);
    expect(replay.bytes).toBe(2 * bytesOf(2));
    replay.add(packed(trajectory(4, 500)));
    expect(replay.units).toBe(1);
    expect(signalsIn(replay.sample(1, () => 0))).toEqual(new Set([4]));
  });

  it('is empty at first', () => {
    expect(createReplay({ hyper: hyper() }).sample(5, () => 0)).toEqual([]);
  });

  const round = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 6 });
  it('is the same however much of it is on the disk, within its bounds, and leaves no file behind', () => {
    fc.assert(
      fc.property(
        fc.record({
          rounds: fc.array(round, { maxLength: 12 }),
          replayCapacity: fc.integer({ min: 1, max: 20 }),
          replayBytes: fc.constantFrom(0, 400, 1_500),
          memoryBytes: fc.constantFrom(0, 300, 1_000, 1e9),
          fileBytes: fc.constantFrom(1, 500, 1e6),
        }),
        ({ rounds, replayCapacity, replayBytes, memoryBytes, fileBytes }) => {
          const bounds = hyper({ replayCapacity, replayBytes });
          const inMemory = createReplay({ hyper: bounds });
          const onDisk = createReplay({ hyper: bounds, spill: { to: createSpill(directory, fileBytes), memoryBytes } });
          let signal = 0;
          for (const lengths of rounds) {
            const batch = packed(...lengths.map((length) => trajectory((signal += 1), length)));
            for (const replay of [inMemory, onDisk]) replay.add(batch);
            expect([onDisk.units, onDisk.bytes]).toEqual([inMemory.units, inMemory.bytes]);
            expect(onDisk.units).toBeLessThanOrEqual(replayCapacity);
            if (replayBytes > 0 && onDisk.units > 1) expect(onDisk.bytes).toBeLessThanOrEqual(replayBytes);
            expect(onDisk.memoryBytes).toBeLessThanOrEqual(memoryBytes);
            expect(onDisk.sample(4, counting())).toEqual(inMemory.sample(4, counting()));
          }
          onDisk.close();
          expect(readdirSync(directory)).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('fails to read a file that was cut short, instead of returning zeros', () => {
    const spill = createSpill(directory);
    const spilled = spill.write(Uint8Array.of(1, 2, 3));
    expect(spill.read(spilled)).toEqual(Uint8Array.of(1, 2, 3));
    expect(() => spill.read({ ...spilled, length: 9 })).toThrow('the file ends after 3');
    spill.close();
  });
});

describe('chunks', () => {
  it('hold all parts in order, and exceed the limit only with a single part', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 12 }), fc.integer({ min: 1, max: 10 }), (lengths, maxRows) => {
        const parts = lengths.map((length, at) => trajectory(at, length));
        const chunks = chunksOf(parts, maxRows);
        expect(chunks.flat()).toEqual(parts);
        for (const chunk of chunks) {
          const rows = chunk.reduce((sum, { chosen }) => sum + chosen.length, 0);
          if (chunk.length > 1) expect(rows).toBeLessThanOrEqual(maxRows);
        }
      }),
    );
  });
});
