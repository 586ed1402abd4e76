// The external trainer of a torture test: a process that trains a run through the API. It keeps a checkpoint, continues from it after every
// interruption, and sometimes releases a batch or rewinds to an older version. Its weights are those of version 0, which workers can load.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../../streams/core/errors.ts';
import { connectLog } from '../../app/open/connections.ts';
import { readServices } from '../../app/open/services-file.ts';
import { ApiError, Turnstream, type Batch, type Prepared, type Trainer, type Weights } from '../../clients/typescript/index.ts';
import { loadConfig } from '../../config/load.ts';
import { pause } from '../../lifecycle/waiting.ts';
import { silentLogger } from '../../testing/logger.ts';
import { firstWeights } from '../crash-trainer.ts';

const { values } = parseArgs({
  options: {
    run: { type: 'string', default: '' },
    /** Data directory of `up`, which names the address of the API. */
    up: { type: 'string', default: '' },
    dir: { type: 'string', default: '' },
    brokers: { type: 'string', default: '' },
  },
});
const { run, dir } = values;

const WAIT_MS = 2_000;
const AGAIN_MS = 250;
/** Every so many batches, one is released, or committed without its weights. */
const RELEASE_EVERY = 7;
const LATE_EVERY = 5;
/** Every so many batches without a failed call, the run is rewound. */
const REWIND_EVERY = 25;
const REWIND_BY = 2;

interface KeptCheckpoint {
  readonly lineage: string;
  readonly prepared?: Prepared;
}

const say = (text: string): void => void process.stdout.write(`${new Date().toISOString()} ${text}\n`);
const [checkpointFile, weightsFile] = [join(dir, 'checkpoint.json'), join(dir, 'weights.json')];

/** Replaces the file atomically, because the process may be killed at any moment. */
function save(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(value));
  renameSync(`${file}.new`, file);
}

const load = (file: string): unknown => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);

/** Reads version 0 from the log once. */
async function weightsOfRun(): Promise<Weights> {
  const known = load(weightsFile) as Weights | undefined;
  if (known !== undefined) return known;
  const config = loadConfig({ KAFKA_BROKERS: values.brokers, TURNSTREAM_DATA_DIR: dir });
  const log = await connectLog({ config, clientId: 'external-trainer', logger: silentLogger });
  try {
    const weights = await firstWeights(log, { config, run });
    save(weightsFile, weights);
    return weights;
  } finally {
    await log.close();
  }
}

/** Claims the run with the checkpoint; without it if the run has continued without this trainer. */
async function claim(client: Turnstream): Promise<Trainer> {
  const kept = load(checkpointFile) as KeptCheckpoint | undefined;
  try {
    return await client.run(run).trainer('torture', kept ?? {});
  } catch (error) {
    if (kept === undefined || !(error instanceof ApiError) || error.status !== 409) throw error;
    say(`without the checkpoint: ${error.message}`);
    rmSync(checkpointFile);
    return client.run(run).trainer('torture');
  }
}

async function readRows(batch: Batch): Promise<void> {
  let count = 0;
  for await (const row of batch.rows()) {
    if (row.row !== count) throw new Error(`row ${count} of ${batch.lease.batch_id} is number ${row.row}`);
    count += 1;
  }
  if (count !== batch.lease.rows) throw new Error(`${batch.lease.batch_id} has ${count} rows, its lease says ${batch.lease.rows}`);
}

async function commit(trainer: Trainer, batch: Batch, weights: Weights): Promise<void> {
  const isLate = batch.lease.step % LATE_EVERY === 0;
  const prepared = batch.prepare({ policy: isLate ? null : weights, metrics: { loss: 1 / batch.lease.step } });
  save(checkpointFile, { lineage: trainer.lineage, prepared });
  const { version, lineage } = await batch.commit(prepared);
  save(checkpointFile, { lineage });
  if (isLate) await trainer.publish(version, weights);
  say(`version ${version}`);
}

/** Trains until a call fails. */
async function train(client: Turnstream, weights: Weights): Promise<void> {
  let trainer = await claim(client);
  say(`epoch ${trainer.epoch}, version ${trainer.version}`);
  for (let made = 1; ; made += 1) {
    const batch = await trainer.lease(WAIT_MS);
    if (batch === undefined) continue;
    await readRows(batch);
    if (made % RELEASE_EVERY === 0) {
      await batch.release();
      continue;
    }
    await commit(trainer, batch, weights);
    if (made % REWIND_EVERY !== 0) continue;
    const rewind = { to_version: trainer.version - REWIND_BY, reason: 'a torture test' };
    trainer = await client.run(run).trainer('torture', { rewind });
    save(checkpointFile, { lineage: trainer.lineage });
    say(`gone back to version ${rewind.to_version}`);
  }
}

for (;;) {
  try {
    const url = readServices(values.up)?.apiUrl;
    if (url !== undefined) await train(new Turnstream({ url }), await weightsOfRun());
  } catch (error) {
    say(messageOf(error));
  }
  await pause(AGAIN_MS);
}
