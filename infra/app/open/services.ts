// Finds the services that a command needs: configured, or those of a running `up`, or started for the duration of the command. Services
// started for a command are stopped when it ends, even after a failure.
import { join } from 'node:path';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { assertDataDir } from '../../lifecycle/data-dir.ts';
import { takeLock } from '../../lifecycle/lock-file.ts';
import { assertAnswering } from './answering.ts';
import { rememberedPort } from './local-ports.ts';
import { withKnownAddresses, type Needs } from './addresses.ts';

export interface ServiceOptions {
  readonly config: Config;
  readonly needs: Needs;
  readonly logger: Logger;
  readonly purpose: string;
  /** Does not migrate the tables of a store that is started. */
  readonly tablesAsTheyAre?: boolean;
}

/** Runs `work` with a configuration in which every needed address is set and answers. */
export async function withServices<T>(options: ServiceOptions, work: (config: Config) => Promise<T>): Promise<T> {
  const known = withKnownAddresses(options.config);
  await assertAnswering(known, options.needs);
  const startKafka = options.needs.kafka && known.kafkaBrokers.length === 0;
  const startOwnStore = options.needs.store && known.clickhouseUrl === '';
  if (!startKafka && !startOwnStore) return work(known);
  assertDataDir(options.config.dataDir);
  const started: (() => Promise<void>)[] = [lock(options.config, options.purpose)];
  try {
    const starting = [
      startKafka ? localKafka(options, started) : Promise.resolve(known.kafkaBrokers),
      startOwnStore ? localStore(options, started) : Promise.resolve(known.clickhouseUrl),
    ] as const;
    // Both settle before anything is stopped: a service that is still starting must be stopped too.
    await Promise.allSettled(starting);
    const [kafkaBrokers, clickhouseUrl] = await Promise.all(starting);
    const config = { ...known, kafkaBrokers, clickhouseUrl };
    if (startOwnStore && options.tablesAsTheyAre !== true) {
      const { prepareStore } = await import('./prepare.ts');
      await prepareStore(config);
    }
    return await work(config);
  } finally {
    for (const stop of started.reverse()) await stop();
  }
}

interface ServicesContext {
  readonly config: Config;
  readonly logger: Logger;
}

async function localKafka({ config, logger }: ServicesContext, started: (() => Promise<void>)[]): Promise<readonly string[]> {
  const { startLocalKafka } = await import('../../kafka/broker/local.ts');
  const kafka = await startLocalKafka({ dataDir: config.dataDir, logger });
  started.push(() => kafka.stop());
  return kafka.brokers;
}

async function localStore({ config, logger }: ServicesContext, started: (() => Promise<void>)[]): Promise<string> {
  const [{ startStore }, { ensureStorePassword }] = await Promise.all([
    import('../../clickhouse/store-process.ts'),
    import('../../clickhouse/store/password.ts'),
  ]);
  const port = await rememberedPort(config.dataDir, 'store');
  const { dataDir, storeSessions: sessions } = config;
  const password = ensureStorePassword(dataDir, config.clickhousePassword);
  const store = await startStore({ dataDir, port, sessions, password, logger });
  started.push(() => store.stop());
  return store.url;
}

function lock(config: Config, purpose: string): () => Promise<void> {
  const taken = takeLock(join(config.dataDir, 'up.lock'), purpose);
  if (!taken.taken) {
    const { pid, purpose: theirs } = taken.owner;
    throw new PlatformError(
      'DATA_DIR_IN_USE',
      `running ${purpose} in ${config.dataDir}: process ${pid} (${theirs}) is using it and its services do not answer yet; try again in a moment`,
    );
  }
  return async () => {
    taken.release();
  };
}
