// An external trainer that makes every call of the protocol, over HTTP, and claims the run again whenever its coordinator ends. Its weights
// are always those of version 0, so that workers can load what it publishes.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeFile } from 'node:fs/promises';
import { isPlatformError } from '../../streams/core/errors.ts';
import type { Coordinator, WeightsOfCommit } from '../../streams/leases/coordinator.ts';
import { findPolicy } from '../../consumers/trainer/checkpoints.ts';
import { connectLog, groupsOf, type LogConnection } from '../app/open/connections.ts';
import { findCoordinator } from '../app/open/coordinator-address.ts';
import type { Config } from '../config/descriptors.ts';
import { remoteCoordinator } from '../http/remote-coordinator.ts';
import { systemClock } from '../lifecycle/clock.ts';
import { silentLogger } from '../testing/logger.ts';

const AGAIN_MS = 100;
const WAIT_MS = 2_000;
/** Numbers of rounds after which it releases its batch, or rewinds to version 0. */
const RELEASE_EVERY = 3;
const REWIND_EVERY = 4;

/** Trains until it is stopped. */
export async function startExternalTrainer(config: Config, run: string): Promise<{ stop(): Promise<void> }> {
  const log = await connectLog({ config, clientId: 'external-trainer', logger: silentLogger });
  const stopping = new AbortController();
  const training = trainUntil(log, { config, run }, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await training.finally(() => log.close());
    },
  };
}

interface Trained {
  readonly config: Config;
  readonly run: string;
}

async function trainUntil(log: LogConnection, { config, run }: Trained, signal: AbortSignal): Promise<void> {
  for (let round = 1; !signal.aborted; round += 1) {
    try {
      const url = await findCoordinator(run, log.kafka.offsets, groupsOf(config.namespace).trainer(run));
      await trainOnce(remoteCoordinator({ url, headers: {} }), { run, round, signal, weights: () => firstWeights(log, { config, run }) });
    } catch (error) {
      // the coordinator has ended, or this trainer is out of date: the next round claims the run again
      if (!isPlatformError(error)) throw error;
      await systemClock.sleep(AGAIN_MS, signal);
    }
  }
}

interface TrainingRound {
  readonly run: string;
  readonly round: number;
  readonly signal: AbortSignal;
  readonly weights: () => Promise<WeightsOfCommit>;
}

async function trainOnce(coordinator: Coordinator, { run, round, signal, weights }: TrainingRound): Promise<void> {
  const rewind = round % REWIND_EVERY === 0 ? { rewind: { to_version: 0, reason: 'a test' } } : {};
  const { epoch, lineage } = await coordinator.claim(run, { trainer_id: 'e2e', ...rewind });
  const lease = () => coordinator.lease(run, { epoch, lineage, held: [], wait_ms: WAIT_MS }, signal);
  const first = await lease();
  if (first !== undefined && round % RELEASE_EVERY === 0) await coordinator.release(first.batch_id, { epoch });
  const leased = await lease();
  if (leased === undefined) return;
  const { batch_id: id, batch_sha256 } = leased;
  const { version } = await coordinator.commit(id, { epoch, batch_sha256, policy: null, metrics: { loss: round } });
  await coordinator.publish(run, { version, epoch, ...(await weights()) });
}

/** Version 0, in a file. */
export async function firstWeights(log: LogConnection, { config, run }: Trained): Promise<WeightsOfCommit> {
  const found = await findPolicy({ log: log.kafka.reader(), events: log.events }, { runId: run, version: 0 }, 0);
  if (found === undefined) throw new Error(`run ${run} has no version 0`);
  const sha256 = createHash('sha256').update(found.weights).digest('hex');
  const path = join(config.dataDir, `${run}-0.bin`);
  await writeFile(path, found.weights);
  return { uri: pathToFileURL(path).href, sha256, format: found.format };
}
