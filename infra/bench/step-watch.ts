// Waits for a real `turnstream up`, and follows the steps that its trainer commits.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectLog, type LogConnection } from '../app/open/connections.ts';
import { readServices, type ServicesFile } from '../app/open/services-file.ts';
import { loadConfig } from '../config/load.ts';
import { createLogger } from '../telemetry/logger.ts';

const LIMIT_MS = 90_000;

/** The services of the `up` in this data directory, as soon as its trainer runs. */
export async function servicesOf(dir: string): Promise<ServicesFile> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    const services = readServices(dir);
    if (services?.processes['trainer'] !== undefined) return services;
    if (Date.now() > deadline) throw new Error(`starting turnstream up: no trainer within ${LIMIT_MS} ms; see ${join(dir, 'up.log')}`);
    await sleep(100);
  }
}

export interface StepWatch {
  count(): number;
  /** Commit time of the newest step, ms. */
  newestMs(): number;
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Follows the ledger: its producer timestamps are those of the commits. */
export async function watchSteps(services: ServicesFile): Promise<StepWatch> {
  const logger = createLogger({ level: 'warn', role: 'bench' });
  const config = loadConfig({ KAFKA_BROKERS: services.kafkaBrokers.join(',') });
  const log: LogConnection = await connectLog({ config, clientId: 'bench', logger });
  let [count, newestMs] = [0, 0];
  const following = await log.kafka.reader().follow({
    topics: ['training'],
    from: [],
    otherwise: 'first',
    onBatch: async (batch) => {
      for (const record of batch.records) {
        const read = await log.events.read(record);
        if (!read.ok || read.value.type !== 'StepCompleted') continue;
        count += 1;
        newestMs = record.timestampMs;
      }
    },
    onError: (error) => {
      logger.error({ err: error }, 'following the ledger');
    },
  });
  return {
    count: () => count,
    newestMs: () => newestMs,
    async until(wanted) {
      const deadline = Date.now() + LIMIT_MS;
      while (count < wanted) {
        if (Date.now() > deadline) throw new Error(`waiting for step ${wanted}: ${count} within ${LIMIT_MS} ms`);
        await sleep(10);
      }
    },
    async close() {
      await following.close();
      await log.close();
    },
  };
}
