// Fills in service addresses that are not configured but known from a running `up`.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Config } from '../../config/descriptors.ts';
import { readServices } from './services-file.ts';

export interface Needs {
  readonly kafka: boolean;
  readonly store: boolean;
}

/** The configuration, with the addresses of a running `up` where none are configured. */
export function withKnownAddresses(config: Config): Config {
  const running = readServices(config.dataDir);
  if (running === undefined) return config;
  return {
    ...config,
    kafkaBrokers: config.kafkaBrokers.length > 0 ? config.kafkaBrokers : running.kafkaBrokers,
    clickhouseUrl: config.clickhouseUrl === '' ? running.clickhouseUrl : config.clickhouseUrl,
  };
}

/** The same for a role: a missing address is an error, because a role starts no services. */
export function addressesForRole(config: Config, needs: Needs): Config {
  const found = withKnownAddresses(config);
  const missing = [
    ...(needs.kafka && found.kafkaBrokers.length === 0 ? ['KAFKA_BROKERS'] : []),
    ...(needs.store && found.clickhouseUrl === '' ? ['CLICKHOUSE_URL'] : []),
  ];
  if (missing.length === 0) return found;
  throw new PlatformError(
    'CONFIG_INVALID',
    `starting the role: ${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not set and no \`turnstream up\` runs in ${config.dataDir}; set ${missing.length > 1 ? 'them' : 'it'}, or start them with \`turnstream serve\` (without training) or \`turnstream up\``,
  );
}
