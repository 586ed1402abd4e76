import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { createRecordingLogger, silentLogger } from '../testing/logger.ts';
import { createAdminClient, createClient, kafkaOptionsOf } from './options.ts';
import { topicPlanOf } from './topics/topics.ts';

describe('options from the configuration', () => {
  it('have no TLS by default, and the brokers of the local Kafka', () => {
    expect(kafkaOptionsOf(loadConfig({}), ['127.0.0.1:1'])).toEqual({
      brokers: ['127.0.0.1:1'],
      namespace: 'turnstream',
      security: { tls: false },
      compression: 'lz4',
      sharedTextBytes: 64_000_000,
    });
    expect(kafkaOptionsOf(loadConfig({ KAFKA_BROKERS: 'a:1,b:2' })).brokers).toEqual(['a:1', 'b:2']);
  });

  it('contain TLS with its certificate authority, and SASL', () => {
    const dir = mkdtempSync(join(tmpdir(), 'turnstream-ca-'));
    onTestFinished(() => {
      rmSync(dir, { recursive: true });
    });
    const file = join(dir, 'ca.pem');
    writeFileSync(file, 'PEM');
    const env = {
      TURNSTREAM_KAFKA_TLS: 'true',
      TURNSTREAM_KAFKA_CA_FILE: file,
      TURNSTREAM_KAFKA_SASL_MECHANISM: 'scram-sha-512',
      TURNSTREAM_KAFKA_SASL_USERNAME: 'me',
      TURNSTREAM_KAFKA_SASL_PASSWORD: 'secret',
    };
    const sasl = { mechanism: 'scram-sha-512', username: 'me', password: 'secret' };
    expect(kafkaOptionsOf(loadConfig(env)).security).toEqual({ tls: true, ca: 'PEM', sasl });
    const missing = { ...loadConfig(env), kafkaCaFile: join(dir, 'none.pem') };
    expect(() => kafkaOptionsOf(missing)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)('make a client for %s', (mechanism) => {
    const sasl = { mechanism, username: 'me', password: 'secret' };
    const options = { brokers: ['127.0.0.1:1'], clientId: 'c', logger: silentLogger };
    expect(createClient({ ...options, security: { tls: true, sasl } })).toBeDefined();
    expect(createClient({ ...options, security: { tls: true, ca: 'PEM', sasl } })).toBeDefined();
    expect(createAdminClient(options)).toBeDefined();
  });

  it('send the log messages of kafkajs to our logger, at debug level', async () => {
    const logger = createRecordingLogger();
    const admin = createClient({ brokers: ['127.0.0.1:1'], clientId: 'c', logger }).admin({ retry: { retries: 0 } });
    await expect(admin.connect()).rejects.toThrow();
    expect(logger.lines.length).toBeGreaterThan(0);
    expect(new Set(logger.lines.map(({ level }) => level))).toEqual(new Set(['debug']));
    await admin.disconnect();
  });
});

describe('plan of the topics', () => {
  const planOf = (env: Record<string, string>) => new Map(topicPlanOf(loadConfig(env)).map((spec) => [spec.topic, spec]));

  it('keeps the ledger, the policies, the questions and the evaluations forever, and compacts the schemas', () => {
    const plan = planOf({ TURNSTREAM_RETENTION_HOURS: '24' });
    for (const topic of ['training', 'policies', 'questions', 'evaluations'] as const)
      expect(plan.get(topic)?.config['retention.ms']).toBe('-1');
    for (const topic of ['rollouts', 'tasks', 'dead-letters'] as const) expect(plan.get(topic)?.config['retention.ms']).toBe('86400000');
    expect(plan.get('schemas')?.config['cleanup.policy']).toBe('compact');
    expect(planOf({}).get('rollouts')?.config['retention.ms']).toBe('-1');
  });

  it('takes partitions and replication from the configuration, and requires a majority of replicas', () => {
    const plan = planOf({ TURNSTREAM_PARTITIONS_ROLLOUTS: '12', TURNSTREAM_PARTITIONS_TASKS: '24', TURNSTREAM_REPLICATION: '3' });
    expect(plan.get('rollouts')).toMatchObject({ partitions: 12, replication: 3, config: { 'min.insync.replicas': '2' } });
    expect(plan.get('tasks')?.partitions).toBe(24);
    expect(plan.get('training')?.partitions).toBe(1);
  });
});
