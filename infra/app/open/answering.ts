// Checks that configured services are reachable.
import { PlatformError } from '../../../streams/core/errors.ts';
import type { Config } from '../../config/descriptors.ts';
import { endpointOf, portAnswers } from '../../lifecycle/net.ts';
import type { Needs } from './addresses.ts';

/** Fails fast with a clear message instead of minutes of waiting. */
export async function assertAnswering(config: Config, needs: Needs): Promise<void> {
  if (needs.kafka && config.kafkaBrokers.length > 0) {
    const answers = await Promise.all(config.kafkaBrokers.map((broker) => answering(broker)));
    if (!answers.includes(true)) {
      throw new PlatformError(
        'KAFKA_UNAVAILABLE',
        `connecting to Kafka at ${config.kafkaBrokers.join(',')}: nothing answers there; check KAFKA_BROKERS and the broker`,
      );
    }
  }
  if (needs.store && config.clickhouseUrl !== '' && !(await answering(config.clickhouseUrl))) {
    const { host, port } = endpointOf(config.clickhouseUrl);
    throw new PlatformError(
      'STORE_UNAVAILABLE',
      `connecting to ClickHouse at ${host}:${port}: nothing answers there; check CLICKHOUSE_URL and the server`,
    );
  }
}

function answering(address: string): Promise<boolean> {
  const { host, port } = endpointOf(address);
  return portAnswers(host, port, 3_000);
}
