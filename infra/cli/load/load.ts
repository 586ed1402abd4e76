// Generates synthetic load for the command line.
import { createLoad, type LoadOptions } from '../../../producers/load/load.ts';
import { writeLoad, type LoadCounts } from '../../../producers/load/write-load.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { batchesOf, ofRun } from '../../../streams/core/read-log.ts';
import type { Config } from '../../config/descriptors.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { pause } from '../../lifecycle/waiting.ts';
import type { LogConnection } from '../../app/open/connections.ts';
import { withLog } from '../../app/open/with-log.ts';

export interface LoadArguments {
  readonly config: Config;
  readonly logger: Logger;
  readonly load: Omit<LoadOptions, 'startMs' | 'producer'>;
  /** Turns per second; 0 = as fast as the log accepts them. */
  readonly rate: number;
  readonly signal: AbortSignal;
  readonly onProgress: (counts: Readonly<LoadCounts>) => void;
}

export interface LoadReport extends LoadCounts {
  readonly run: string;
  readonly seconds: number;
}

/**
 * Writes synthetic rollouts until done or aborted. Throws RUN_CONFLICT when the run has a ledger: a training run takes no synthetic turns.
 */
export const runLoad = ({ config, logger, load, rate, signal, onProgress }: LoadArguments): Promise<LoadReport> =>
  withLog({ config, logger, purpose: 'load' }, async (log) => {
    await log.kafka.topics.apply(topicPlanOf(config));
    await log.registry.ensurePublished();
    await assertNoLedger(log, load.runId);
    const writer = await log.kafka.writer();
    const began = performance.now();
    const counts = await writeLoad({
      load: createLoad({ ...load, startMs: Date.now(), producer: `load/${load.seed}` }),
      ...{ writer, rate, signal, onProgress, pause },
      now: () => performance.now(),
    });
    return { ...counts, run: load.runId, seconds: (performance.now() - began) / 1_000 };
  });

async function assertNoLedger({ kafka }: LogConnection, run: string): Promise<void> {
  const start = await kafka.runs.startOf(run);
  if (start === undefined) return;
  for await (const { records } of batchesOf(kafka.reader(), 'training', { from: new Map([[0, start.training]]) })) {
    if (!records.some(ofRun(run))) continue;
    throw new PlatformError('RUN_CONFLICT', `writing load as run ${run}: a training run has this name; choose another --run`);
  }
}
