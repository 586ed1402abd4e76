// The advisories of a run on the terminal, over a real broker that has records which no sink has stored.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startStoreHere } from '../../testing/store.ts';
import { command } from '../../testing/up.ts';
import { connectLog, connectWarehouse } from '../../app/open/connections.ts';
import { prepareLog, prepareStore } from '../../app/open/prepare.ts';

describe('the status of a run', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-status-'));
  let env: Record<string, string>;
  let stopStore: (() => Promise<unknown>) | undefined;

  beforeAll(async () => {
    const [kafka, running] = await Promise.all([useKafka(), startStoreHere()]);
    stopStore = () => running.stop();
    env = {
      KAFKA_BROKERS: kafka.brokers.join(','),
      CLICKHOUSE_URL: running.url,
      TURNSTREAM_CLICKHOUSE_PASSWORD: 'pass',
      TURNSTREAM_DATA_DIR: dataDir,
      TURNSTREAM_NAMESPACE: kafka.namespace,
      TURNSTREAM_LOG_LEVEL: 'error',
    };
    const config = loadConfig(env);
    await Promise.all([prepareLog(config, silentLogger), prepareStore(config)]);
    const log = await connectLog({ config, clientId: 'test', logger: silentLogger });
    await log.kafka.appendRaw(
      'rollouts',
      Array.from({ length: 150 }, () => ({ key: 'g1', value: Buffer.from('unstored'), headers: {} })),
    );
    await log.close();
    const store = connectWarehouse(config);
    const place = "'rollouts', 0, 0, now64(3) - interval 5 minute";
    await store.command(
      `insert into run_events (run_id, event, sequence, at, _topic, _partition, _offset, _timestamp) select 'lags', 'started', 0, now64(6), ${place}`,
    );
    await store.command(
      `insert into heartbeats (run_id, worker_id, running, occurred_at, _topic, _partition, _offset, _timestamp)
       select 'lags', 'worker-1', 2, now64(6) - interval 5 minute, ${place}`,
    );
    await store.close();
  });
  afterAll(async () => {
    await stopStore?.();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const rulesOf = async (more: Readonly<Record<string, string>> = {}): Promise<readonly string[]> => {
    const { out } = await command({ ...env, ...more }, 'status', '--run', 'lags', '--json');
    return (JSON.parse(out) as { readonly advisories: readonly { readonly rule: string }[] }).advisories.map(({ rule }) => rule);
  };

  it('has an advisory that the tables lag behind the log, except while the log does not answer', async () => {
    expect(await rulesOf()).toEqual(['consumer-lag']);
    expect(await rulesOf({ KAFKA_BROKERS: '127.0.0.1:1' })).toEqual([]);
  });
});
