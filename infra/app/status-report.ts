// The answer of `turnstream status`: addresses that are in use now, and the runs that the tables know.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../streams/core/ports.ts';
import type { Config } from '../config/descriptors.ts';
import { measureDisk, type DiskUse } from '../lifecycle/disk-use.ts';
import { listRuns, summaryOf, type RunLine, type RunSummary } from './run-summary.ts';
import { clickhousePasswordOf } from './connections.ts';
import { keptText } from './kept-text.ts';
import { withStore } from './with-store.ts';
import { readServices, type ServicesFile } from './services-file.ts';

export interface StatusReport {
  /** Brokers, comma separated; null when there are none in use. */
  readonly kafka: string | null;
  readonly registry: string | null;
  readonly clickhouse: string | null;
  readonly api: string | null;
  /** The run that is being trained; null when none is. */
  readonly run: string | null;
  readonly processes: Readonly<Record<string, number>>;
  /** What the data directory takes of its disk; null where there is none. */
  readonly disk: DiskUse | null;
  /** What is kept of the log, in words. */
  readonly kept: string;
  readonly runs: readonly RunLine[];
}

const known = (address: string | undefined): string | null => (address === undefined || address === '' ? null : address);

/** Configured addresses win over those of a running `up`. */
function addressesOf(config: Config, running: ServicesFile | undefined) {
  const { kafkaBrokers, clickhouseUrl, schemaRegistryUrl } = config;
  const own = { kafka: kafkaBrokers.join(','), registry: schemaRegistryUrl, clickhouse: clickhouseUrl };
  return {
    kafka: known(own.kafka) ?? known(running?.kafkaBrokers.join(',')),
    registry: known(own.registry) ?? known(running?.registryUrl),
    clickhouse: known(own.clickhouse) ?? known(running?.clickhouseUrl),
    api: known(running?.apiUrl),
  };
}

/** Reads it; the embedded store is started for the moment when it does not run. User and password of ClickHouse are shown when asked for. */
export async function readStatus(config: Config, logger: Logger, showSecrets = false): Promise<StatusReport> {
  const running = readServices(config.dataDir);
  const runs = nothingStored(config, running) ? [] : await withStore({ config, logger, purpose: 'status' }, (store) => listRuns(store));
  const addresses = addressesOf(config, running);
  const unfinished = (run: RunLine): string => (run.run_id === running?.run ? 'running' : 'unfinished');
  return {
    ...addresses,
    clickhouse: addresses.clickhouse === null ? null : clickhouseAddress(config, addresses.clickhouse, showSecrets),
    run: running?.run ?? null,
    kept: keptText(config),
    processes: running?.processes ?? {},
    disk: (await measureDisk(config.dataDir, config.namespace)) ?? null,
    runs: runs.map((run) => (run.state === 'running' ? { ...run, state: unfinished(run) } : run)),
  };
}

function clickhouseAddress(config: Config, address: string, showSecrets: boolean): string {
  const url = new URL(address);
  if (!showSecrets) [url.username, url.password] = ['', ''];
  else if (url.password === '') {
    url.username = encodeURIComponent(config.clickhouseUser);
    url.password = encodeURIComponent(clickhousePasswordOf(config, address));
  }
  return url.href.replace(/\/$/, '');
}

/** A look at a data directory that has no store does not make one. */
const nothingStored = (config: Config, running: ServicesFile | undefined): boolean =>
  config.clickhouseUrl === '' && running === undefined && !existsSync(join(config.dataDir, 'store'));

/** What became of one run. */
export function readRun(config: Config, run: string, logger: Logger): Promise<RunSummary> {
  return withStore({ config, logger, purpose: 'status' }, (store) => summaryOf(store, run));
}
