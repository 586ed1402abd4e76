// A good log of a run with an external trainer, which returns a batch, is fenced while a lease is out, keeps a prepared batch across a
// claim, rewinds to an older version, and publishes some weights late.
import { beforeAll } from 'vitest';
import { createCoordinator } from '../../../consumers/trainer/external/coordinator.ts';
import { createDesk } from '../../../consumers/trainer/external/desk.ts';
import { createLogRows } from '../../../consumers/trainer/external/log-rows.ts';
import { runTrainer } from '../../../consumers/trainer/trainer.ts';
import { isPlatformError } from '../../../streams/core/errors.ts';
import type { ClaimAnswer, ClaimRequest, Coordinator, LeaseAnswer, WeightsOfCommit } from '../../../streams/leases/coordinator.ts';
import { codecReader } from '../../testing/codec-reader.ts';
import { readFacts, type RunFacts } from './facts.ts';
import { depsOf, newScriptedLog, RUN } from './scripted-log.testing.ts';

const WAIT_MS = 10_000;
const AGAIN_MS = 20;

const weightsOf = (step: number): WeightsOfCommit => ({
  ...{ uri: `file:///w/${step}`, sha256: String(step).padStart(64, '0'), format: 'hf-safetensors' },
});

class ScriptedTrainer {
  readonly #coordinator: Coordinator;
  #claim: ClaimAnswer | undefined;
  readonly #done = new Set<string>();

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
  }

  /** Trains until the run has ended. */
  async train(): Promise<void> {
    try {
      await this.#claimed();
      for (;;) await this.#round();
    } catch (error) {
      if (!isPlatformError(error) || error.code !== 'RUN_FINISHED') throw error;
    }
  }

  async #claimed(rest: Partial<ClaimRequest> = {}): Promise<void> {
    for (;;) {
      try {
        this.#claim = await this.#coordinator.claim(RUN, { trainer_id: 'scripted', ...rest });
        return;
      } catch (error) {
        if (!isPlatformError(error) || error.code !== 'COORDINATOR_UNAVAILABLE') throw error;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  async #round(): Promise<void> {
    const { version = 0, lineage = '' } = this.#claim ?? {};
    if (this.#isAt(7, 'rewind')) await this.#claimed({ lineage: this.#lineages.get(5) ?? '', rewind: { to_version: 5 } });
    const leased = await this.#lease();
    if (this.#isAt(2, 'return')) await this.#coordinator.release(leased.batch_id, { epoch: this.#epoch });
    else if (this.#isAt(4, 'fence')) await this.#claimed({ lineage });
    else {
      const prepared = { batch_id: leased.batch_id, weights_sha256: weightsOf(version + 1).sha256 };
      if (this.#isAt(9, 'prepare')) await this.#claimed({ lineage, prepared });
      await this.#commit(leased);
    }
  }

  readonly #lineages = new Map<number, string>();

  get #epoch(): number {
    return this.#claim?.epoch ?? 0;
  }

  /** True once, at a version. */
  #isAt(version: number, what: string): boolean {
    if (this.#claim?.version !== version || this.#done.has(what)) return false;
    this.#done.add(what);
    return true;
  }

  async #lease(): Promise<LeaseAnswer> {
    const { lineage = '' } = this.#claim ?? {};
    const call = { epoch: this.#epoch, lineage, held: [], wait_ms: WAIT_MS };
    const leased = await this.#coordinator.lease(RUN, call, new AbortController().signal);
    if (leased === undefined) throw new Error('there is nothing to lease');
    return leased;
  }

  async #commit({ batch_id: id, batch_sha256, step }: LeaseAnswer): Promise<void> {
    const epoch = this.#epoch;
    const isLate = step % 3 === 0;
    const commit = {
      epoch,
      batch_sha256,
      policy: isLate ? null : weightsOf(step),
      metrics: { loss: step },
      skipped: [{ row: 1, reason: 'long' }],
    };
    const { version, lineage } = await this.#coordinator.commit(id, commit);
    if (isLate) await this.#coordinator.publish(RUN, { version, epoch, ...weightsOf(version) });
    this.#lineages.set(version, lineage);
    if (this.#claim !== undefined) this.#claim = { ...this.#claim, version, lineage };
  }
}

async function goodLeases(): Promise<RunFacts> {
  // right after the rewind, a turn of the previous version would be of an abandoned one
  const { log, worker } = await newScriptedLog(0);
  const [desk, rows] = [createDesk(), createLogRows({ log: log.reader(), events: codecReader(log.codec) })];
  const external = { desk, rows, leaseMs: 60_000, prefetch: 1, lingerMs: 50 };
  const ended = runTrainer({ ...depsOf(log), learner: undefined, external }, new AbortController().signal);
  const trainer = new ScriptedTrainer(createCoordinator({ runId: RUN, desk, rows, findLease: async () => undefined }));
  await Promise.all([ended, trainer.train()]);
  await worker.close();
  return (await readFacts(log.reader(), log.codec, RUN)).facts;
}

export let goodLeased: RunFacts;

/** Call it at the top level of a test file. */
export function setUpGoodLeases(): void {
  beforeAll(async () => {
    goodLeased = await goodLeases();
  }, 60_000);
}
