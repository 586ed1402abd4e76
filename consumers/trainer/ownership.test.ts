// Trainers of one run start, freeze, wake and lose Kafka in any order, over an in-memory log that fences as Kafka does.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../infra/testing/memory-log.ts';
import { isPlatformError, PlatformError } from '../../streams/core/errors.ts';
import type { TransactionalWriter } from '../../streams/core/ports.ts';
import { createRandom } from '../../streams/core/random.ts';
import { claimAt, explainFence, newOwner, openOwned, type OwnershipDeps } from './ownership.ts';

const GROUP = 'trainer.run-a';

/** One process. Each of its calls to the log is a separate step, so that other processes can interleave. */
class RivalTrainer {
  readonly deps: OwnershipDeps;
  exit: string | undefined;
  /** Number of successful commits. */
  committed = 0;
  #writer: TransactionalWriter | undefined;
  #release: (() => void) | undefined;
  #isCut = false;

  constructor(log: MemoryLog, id: string) {
    const gate = <T>(work: () => Promise<T>): Promise<T> =>
      new Promise<void>((resolve) => {
        this.#release = resolve;
      }).then(() => {
        if (!this.#isCut) return work();
        this.#isCut = false;
        throw new PlatformError('KAFKA_UNAVAILABLE', 'cut off');
      });
    this.deps = {
      ...{ runId: 'run-a', owner: newOwner(id), groups: { trainer: GROUP } },
      openWriter: async () => {
        const writer = await gate(() => log.transactional(GROUP));
        return { ...writer, commit: (work) => gate(() => writer.commit(work)) };
      },
      offsets: { fetch: (group, topic) => gate(() => log.offsets.fetch(group, topic)) },
    };
    void this.#run();
  }

  /** Makes its next call to the log fail. */
  cut(): void {
    this.#isCut = true;
  }

  /** Performs one action. A process whose steps are not called is frozen. */
  async step(): Promise<void> {
    this.#release?.();
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
  }

  async #run(): Promise<void> {
    while (this.exit === undefined) {
      try {
        this.#writer = await openOwned(this.deps);
        for (;;) {
          await this.#writer.commit({ events: [], offsets: { group: GROUP, positions: [claimAt(this.committed, this.deps.owner.id)] } });
          this.committed += 1;
        }
      } catch (error) {
        const told = await explainFence(this.deps, error);
        if (!isPlatformError(told) || !told.retriable) this.exit = isPlatformError(told) ? told.code : String(told);
      }
    }
  }
}

/** A log with its trainers, and the order in which they claimed the run. */
class Race {
  readonly #log = new MemoryLog();
  readonly trainers = [new RivalTrainer(this.#log, 't-0')];
  readonly claims: string[] = [''];

  start(): void {
    this.trainers.push(new RivalTrainer(this.#log, `t-${this.trainers.length}`));
  }

  /** One trainer performs one action; then the invariants are checked. */
  async step(index: number): Promise<void> {
    await this.trainers[index % this.trainers.length]?.step();
    const claim = this.#log.groupOf(GROUP).committed('policies', 0)?.metadata ?? '';
    if (claim !== this.claims.at(-1)) {
      // a replaced trainer commits nothing anymore
      expect(this.claims).not.toContain(claim);
      this.claims.push(claim);
    }
    expect(this.trainers.find(({ deps }) => deps.owner.id === claim)?.exit).toBeUndefined();
  }
}

interface OwnershipMove {
  readonly kind: 'start' | 'step' | 'cut';
  readonly who: number;
}

const moves: fc.Arbitrary<readonly OwnershipMove[]> = fc.array(
  fc.record({ kind: fc.constantFrom('start', 'cut', 'step', 'step', 'step', 'step', 'step', 'step'), who: fc.nat({ max: 4 }) }),
  { minLength: 10, maxLength: 120 },
);

async function play(race: Race, { kind, who }: OwnershipMove): Promise<void> {
  if (kind === 'start' && race.trainers.length < 5) race.start();
  else if (kind === 'cut') race.trainers[who % race.trainers.length]?.cut();
  else await race.step(who);
}

describe('the owner of a run', () => {
  it('is the one that claimed it last, however the others freeze, lose Kafka, and wake', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(moves, fc.nat(), async (taken, seed) => {
        const race = new Race();
        for (const move of taken) await play(race, move);
        // everyone wakes up, and the random order prevents a lasting lockstep
        const random = createRandom(seed, 0);
        for (let turn = 0; turn < 1_000; turn += 1) await race.step(Math.floor(random() * race.trainers.length));
        const alive = race.trainers.filter(({ exit }) => exit === undefined);
        expect(alive.map(({ deps }) => deps.owner.id)).toEqual([race.claims.at(-1)]);
        expect(new Set(race.trainers.map(({ exit }) => exit ?? 'PRODUCER_FENCED'))).toEqual(new Set(['PRODUCER_FENCED']));
        const before = alive[0]?.committed ?? 0;
        for (let turn = 0; turn < 10; turn += 1) await alive[0]?.step();
        expect(alive[0]?.committed).toBeGreaterThan(before);
      }),
      { numRuns: 100 },
    );
  });

  it('keeps the run when the broker has expired the claim', async () => {
    const log = new MemoryLog();
    const deps: OwnershipDeps = {
      ...{ runId: 'run-a', owner: newOwner('t-0'), groups: { trainer: GROUP }, offsets: log.offsets },
      openWriter: () => log.transactional(GROUP),
    };
    await openOwned(deps);
    log.setOffsets(GROUP, [{ topic: 'policies', partition: 0, offset: -1 }]);
    await (await openOwned(deps)).commit({ events: [] });
    expect((await log.offsets.fetch(GROUP, 'policies'))[0]).toMatchObject({ offset: 0, metadata: 't-0' });
  });
});
