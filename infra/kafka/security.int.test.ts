// TLS and SASL with a broker that requires both.
import { execFile } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import { sharedLibsDir, useKafka } from '../testing/kafka.ts';
import { heartbeat } from '../testing/log/log-under-test.ts';
import { silentLogger } from '../testing/logger.ts';
import { connectKafka, type KafkaConnection } from './connect.ts';
import { localPaths, log4jText, propertiesText } from './broker/local-files.ts';
import { choosePorts } from './broker/local-ports.ts';
import { describeProcess, endProcess, spawnDetached, type ProcessIdentity } from './broker/local-process.ts';
import type { KafkaSecurity } from './options.ts';
import { waitUntilReady } from './broker/ready.ts';
import { topicPlanOf } from './topics/topics.ts';

const run = promisify(execFile);
const PASSWORD = 'changeit';

let dir: string;
let broker: ProcessIdentity;
let secure: string;
let ca: string;

/** Creates a self-signed certificate for 127.0.0.1; returns its text. */
async function makeCertificate(keystore: string): Promise<string> {
  const store = ['-alias', 'broker', '-keystore', keystore, '-storetype', 'PKCS12', '-storepass', PASSWORD];
  await run('keytool', ['-genkeypair', '-keyalg', 'EC', '-dname', 'CN=127.0.0.1', '-ext', 'san=ip:127.0.0.1', '-validity', '3', ...store]);
  return (await run('keytool', ['-exportcert', '-rfc', ...store])).stdout;
}

beforeAll(async () => {
  await useKafka();
  dir = await mkdtemp(join(tmpdir(), 'turnstream-secure-'));
  const paths = localPaths(dir, sharedLibsDir);
  await mkdir(paths.logs, { recursive: true });
  ca = await makeCertificate(join(dir, 'broker.p12'));
  const [ports, others] = [await choosePorts(undefined), await choosePorts(undefined)];
  secure = `127.0.0.1:${others.broker}`;
  const sasl = 'listener.name.secure';
  const security = [
    'ssl.keystore.type=PKCS12',
    `ssl.keystore.location=${join(dir, 'broker.p12')}`,
    `ssl.keystore.password=${PASSWORD}`,
    `${sasl}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512`,
    `${sasl}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_me="secret";`,
    `${sasl}.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
    `${sasl}.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
  ];
  const properties = propertiesText(paths, ports)
    .replace(/^(listener\.security\.protocol\.map=.*)$/m, '$1,SECURE:SASL_SSL')
    .replace(/^((?:advertised\.)?listeners=.*)$/gm, `$1,SECURE://${secure}`);
  await writeFile(paths.properties, properties);
  await appendFile(paths.properties, security.join('\n'));
  await writeFile(paths.log4j, log4jText(paths));
  const java = ['-Xmx256m', '-XX:+UseSerialGC', `-Dlog4j2.configurationFile=${paths.log4j}`, '-cp', join(paths.libs, '*')];
  const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=me,password=secret]`]);
  await run('java', [...java, 'kafka.tools.StorageTool', 'format', '-t', 'MkU3OEVBNTcwNTJENDM2Qg', '-c', paths.properties, ...scram]);
  const child = spawnDetached('java', [...java, 'kafka.Kafka', paths.properties], { outputFile: join(paths.logs, 'broker.out'), cwd: dir });
  broker = { pid: child.pid!, startedAt: (await describeProcess(child.pid!))!.startedAt };
  await waitUntilReady([`127.0.0.1:${ports.broker}`], { timeoutMs: 60_000 });
});
afterAll(async () => {
  await endProcess(broker, 10_000);
  await rm(dir, { recursive: true, force: true });
});

function connect(security: KafkaSecurity): KafkaConnection {
  const kafka = connectKafka({
    brokers: [secure],
    namespace: 'secure',
    clientId: 'secure',
    codec: createCodec(),
    logger: silentLogger,
    security,
  });
  onTestFinished(() => kafka.close());
  return kafka;
}

describe('a broker that asks for TLS and SASL', () => {
  it.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)('is written and read with %s', async (mechanism) => {
    const kafka = connect({ tls: true, ca, sasl: { mechanism, username: 'me', password: 'secret' } });
    await kafka.topics.apply(topicPlanOf({ replication: 1, partitionsRollouts: 1, partitionsTasks: 1, retentionHours: -1 }));
    const [place] = await (await kafka.writer()).append([heartbeat(mechanism)]);
    const ids: (string | undefined)[] = [];
    await kafka.reader().readToEnd('rollouts', {
      from: new Map([[0, place!.offset]]),
      onBatch: (batch) => void ids.push(...batch.records.map(({ headers }) => headers['ce_id']?.toString())),
    });
    expect(ids).toEqual([mechanism]);
  });

  it('reports a wrong password, and does not retry forever', async () => {
    const kafka = connect({ tls: true, ca, sasl: { mechanism: 'plain', username: 'me', password: 'wrong' } });
    await expect(kafka.ping()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect((await kafka.writer()).append([heartbeat('x')])).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('is not trusted without its certificate authority', async () => {
    const kafka = connect({ tls: true, sasl: { mechanism: 'plain', username: 'me', password: 'secret' } });
    await expect(kafka.ping()).rejects.toMatchObject({
      code: 'KAFKA_UNAVAILABLE',
      message: expect.stringMatching(/certificate/) as string,
    });
  });
});
