// The result of `turnstream status`: the service addresses in use, whether each one answers, and the runs in the tables.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readFindings } from '../../../consumers/api/watch/findings.reader.ts';
import { createCodec } from '../../../schemas/codec.ts';
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import type { Config } from '../../config/descriptors.ts';
import { connectKafka } from '../../kafka/connect.ts';
import { kafkaOptionsOf } from '../../kafka/options.ts';
import { measureDisk, type DiskUse } from '../../lifecycle/disk-use.ts';
import { listRuns, summaryOf, type RunLine, type RunSummary } from './run-summary.ts';
import { endpointOf, portAnswers } from '../../lifecycle/net.ts';
import { processAlive } from '../../lifecycle/process-alive.ts';
import { withKnownAddresses } from '../../app/open/addresses.ts';
import { clickhousePasswordOf, groupsOf } from '../../app/open/connections.ts';
import { countBehind } from '../../app/open/count-behind.ts';
import { keptText } from '../../app/fleet/kept-text.ts';
import { withStore } from '../../app/open/with-store.ts';
import { readServices, type ServicesFile } from '../../app/open/services-file.ts';

export interface StatusReport {
  /** Brokers, comma separated; null when none are in use. */
  readonly kafka: string | null;
  readonly registry: string | null;
  readonly clickhouse: string | null;
  readonly api: string | null;
  /** The default API port when another program uses it; null when the API has its default port. */
  readonly api_port_taken: number | null;
  /** Those of the four services above that do not answer. */
  readonly unanswered: readonly ServiceName[];
  /** The run in training; null when there is none. */
  readonly run: string | null;
  readonly processes: Readonly<Record<string, number>>;
  /** Disk usage of the data directory; null when there is no data directory. */
  readonly disk: DiskUse | null;
  /** The retention of the log, in words. */
  readonly kept: string;
  readonly runs: readonly RunLine[];
  /** Why the runs cannot be listed; null when they can. */
  readonly runs_unknown: string | null;
}

type ServiceName = 'kafka' | 'registry' | 'clickhouse' | 'api';
type ServiceAddresses = Readonly<Record<ServiceName, string | null>>;

const known = (address: string | undefined): string | null => (address === undefined || address === '' ? null : address);

/** Configured addresses take precedence over those of a running `up`. */
function addressesOf(config: Config, running: ServicesFile | undefined): ServiceAddresses {
  const { kafkaBrokers, clickhouseUrl, schemaRegistryUrl } = config;
  const own = { kafka: kafkaBrokers.join(','), registry: schemaRegistryUrl, clickhouse: clickhouseUrl };
  return {
    kafka: known(own.kafka) ?? known(running?.kafkaBrokers.join(',')),
    registry: known(own.registry) ?? known(running?.registryUrl),
    clickhouse: known(own.clickhouse) ?? known(running?.clickhouseUrl),
    api: known(running?.apiUrl),
  };
}

/**
 * Reads the status. If the embedded store is not running, it is started for the duration. The user and password of ClickHouse appear only
 * on request.
 */
export async function readStatus(config: Config, logger: Logger, showSecrets = false): Promise<StatusReport> {
  const running = readServices(config.dataDir);
  const addresses = addressesOf(config, running);
  const unanswered = await unansweredOf(addresses);
  const why = whyUnknown({ config, running, unanswered });
  const isReadable = why === null && !nothingStored(config, running);
  const runs = isReadable ? await withStore({ config, logger, purpose: 'status' }, (store) => listRuns(store)) : [];
  const unfinished = (run: RunLine): string => (run.run_id === running?.run ? 'running' : 'unfinished');
  return {
    ...addresses,
    api_port_taken: takenPortOf(running),
    clickhouse: addresses.clickhouse === null ? null : clickhouseAddress(config, addresses.clickhouse, showSecrets),
    unanswered,
    run: running === undefined || running.run === '' ? null : running.run,
    processes: Object.fromEntries(Object.entries(running?.processes ?? {}).filter(([, pid]) => processAlive(pid))),
    disk: (await measureDisk(config.dataDir, config.namespace)) ?? null,
    kept: keptText(config),
    runs: runs.map((run) => (run.state === 'running' ? { ...run, state: unfinished(run) } : run)),
    runs_unknown: why,
  };
}

const takenPortOf = (running: ServicesFile | undefined): number | null => running?.apiPortTaken ?? null;

const ANSWER_MS = 2_000;

async function unansweredOf(addresses: ServiceAddresses): Promise<readonly ServiceName[]> {
  const names = (Object.keys(addresses) as ServiceName[]).filter((name) => addresses[name] !== null);
  const answers = await Promise.all(names.map((name) => anyAnswers((addresses[name] ?? '').split(','))));
  return names.filter((_, at) => answers[at] === false);
}

/** One answering broker is enough. */
async function anyAnswers(addresses: readonly string[]): Promise<boolean> {
  const answers = await Promise.all(
    addresses.map((address) => {
      const { host, port } = endpointOf(address);
      return portAnswers(host, port, ANSWER_MS);
    }),
  );
  return answers.includes(true);
}

interface StatusInputs {
  readonly config: Config;
  readonly running: ServicesFile | undefined;
  readonly unanswered: readonly ServiceName[];
}

function whyUnknown({ config, running, unanswered }: StatusInputs): string | null {
  if (unanswered.includes('clickhouse')) return 'ClickHouse does not answer at its address';
  // a store that is starting must not be disturbed by a second one
  return config.clickhouseUrl === '' && running?.clickhouseUrl === '' ? 'ClickHouse is being started' : null;
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

/** Showing the status of a data directory without a store does not create one. */
const nothingStored = (config: Config, running: ServicesFile | undefined): boolean =>
  config.clickhouseUrl === '' && running === undefined && !existsSync(join(config.dataDir, 'store'));

export interface RunStatus extends RunSummary {
  /** Most severe first. */
  readonly advisories: Awaited<ReturnType<typeof readFindings>>['items'];
}

/** The summary of one run, with its advisories. */
export function readRun(config: Config, run: string, logger: Logger): Promise<RunStatus> {
  return withStore({ config, logger, purpose: 'status' }, async (store) => {
    const summary = await summaryOf(store, run);
    const { items } = await readFindings(store, run, () => recordsBehind(withKnownAddresses(config), logger));
    return { ...summary, advisories: items };
  });
}

/** Neither starts the log nor waits for one that does not answer: without this number, the other advisories are still right. */
async function recordsBehind(config: Config, logger: Logger): Promise<number> {
  const { kafkaBrokers: brokers, namespace } = config;
  if (!(await anyAnswers(brokers))) {
    const doing = 'counting the records that are not in the tables';
    throw new PlatformError('KAFKA_UNAVAILABLE', `${doing}: nothing answers at "${brokers.join(',')}"; check KAFKA_BROKERS and the broker`);
  }
  const kafka = connectKafka({ ...kafkaOptionsOf(config), clientId: 'turnstream-status', codec: createCodec(), logger, wholeTurns: false });
  try {
    return await countBehind(kafka, groupsOf(namespace).warehouse);
  } finally {
    await kafka.close();
  }
}
