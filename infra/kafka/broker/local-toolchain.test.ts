import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRecordingLogger, silentLogger } from '../../testing/logger.ts';
import { startLocalKafka } from './local.ts';
import { localPaths, log4jText, propertiesText } from './local-files.ts';
import { withLock } from './local-lock.ts';
import { portIsFree } from '../../lifecycle/net.ts';
import { choosePorts } from './local-ports.ts';
import { describeProcess, endProcess, isAlive, ownIdentity, spawnDetached } from './local-process.ts';
import { findBroker, readRecord, writeRecord } from './local-record.ts';
import { assertJava, ensureJars, javaVersionOf } from './local-toolchain.ts';

async function tempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'turnstream-unit-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function script(dir: string, name: string, text: string): Promise<string> {
  const file = join(dir, name);
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return file;
}

const threeWays = /install Java 17[\s\S]*KAFKA_BROKERS[\s\S]*docker compose -f infra\/docker\/compose\.yml up -d/;

describe('toolchain of the local Kafka', () => {
  it.each([
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['java version "1.8.0_392"', 8],
    ['openjdk version "21" 2023-09-19', 21],
    ['openjdk 25-ea', undefined],
  ])('reads %j', (text, version) => {
    expect(javaVersionOf(text)).toBe(version);
  });

  it('says once what is missing, and suggests three solutions', async () => {
    const dir = await tempDir();
    const toolchain = { java: join(dir, 'no-java'), maven: join(dir, 'no-mvn') };
    const starting = startLocalKafka({ dataDir: dir, logger: silentLogger, toolchain });
    await expect(starting).rejects.toMatchObject({ code: 'TOOLCHAIN_MISSING', message: expect.stringMatching(threeWays) as string });
    expect(existsSync(join(dir, 'kafka', 'start.lock'))).toBe(false);
  });

  it('refuses a Java that is too old', async () => {
    const java = await script(await tempDir(), 'java', 'echo \'openjdk version "11.0.2"\' >&2');
    await expect(assertJava({ java, maven: '' })).rejects.toMatchObject({
      code: 'TOOLCHAIN_MISSING',
      message: expect.stringContaining('version 11') as string,
    });
  });

  it('says that Maven is missing, or shows its error', async () => {
    const dir = await tempDir();
    const paths = localPaths(dir);
    const missing = ensureJars(paths, { toolchain: { java: '', maven: join(dir, 'no-mvn') }, logger: silentLogger });
    await expect(missing).rejects.toMatchObject({
      code: 'TOOLCHAIN_MISSING',
      message: expect.stringMatching(/`mvn` was not found/) as string,
    });
    const maven = await script(dir, 'mvn', 'echo "[INFO] Scanning for projects..."; echo "[ERROR] Could not transfer artifact"; exit 1');
    const failing = ensureJars(paths, { toolchain: { java: '', maven }, logger: silentLogger });
    await expect(failing).rejects.toMatchObject({
      message: expect.stringMatching(/Maven failed:\n\[ERROR\] Could not transfer artifact[\s\S]*KAFKA_BROKERS/) as string,
    });
    const silent = await script(dir, 'mvn', 'exit 1');
    await expect(ensureJars(paths, { toolchain: { java: '', maven: silent }, logger: silentLogger })).rejects.toMatchObject({
      message: expect.stringMatching(/Maven failed:\n.*mvn[\s\S]*KAFKA_BROKERS/) as string,
    });
    expect(await readdir(paths.root)).toEqual([]);
  });

  it('downloads the jars once for any number of processes', async () => {
    const dir = await tempDir();
    const paths = localPaths(dir);
    const calls = join(dir, 'calls');
    const maven = await script(
      dir,
      'mvn',
      `echo x >> ${calls}; for a in "$@"; do case $a in -DoutputDirectory=*) d=\${a#*=};; esac; done; mkdir -p $d; touch $d/kafka_2.13-4.3.0.jar`,
    );
    const logger = createRecordingLogger();
    let over = 0;
    const onDownload = (downloaded: unknown): void => void (over += downloaded === undefined ? 1 : 0);
    await Promise.all([1, 2, 3].map(() => ensureJars(paths, { toolchain: { java: '', maven }, logger, onDownload })));
    expect(over).toBe(1);
    expect(existsSync(paths.mainJar)).toBe(true);
    expect(logger.lines).toHaveLength(1);
    expect(await readdir(paths.root)).toEqual(['libs']);
  });
});

describe('ports of the local Kafka', () => {
  it('are kept while they are free and replaced when they are not', async () => {
    const first = await choosePorts(undefined);
    expect(await choosePorts(first)).toEqual(first);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(first.broker, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    expect(await portIsFree('127.0.0.1', first.broker)).toBe(false);
    const second = await choosePorts(first);
    expect(second.broker).not.toBe(first.broker);
    expect(second.controller).toBe(first.controller);
  });

  it('are never the same for broker and controller', async () => {
    const { broker, controller } = await choosePorts({ broker: 25_001, controller: 25_001 });
    expect(broker).not.toBe(controller);
  });
});

describe('configuration of the local Kafka', () => {
  it('listens on loopback only, and creates no topics automatically', () => {
    const text = propertiesText(localPaths('/data'), { broker: 1, controller: 2 });
    expect(text).toContain('listeners=PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2\n');
    expect(text).toContain('auto.create.topics.enable=false\n');
    expect(text).not.toContain('0.0.0.0');
    expect(log4jText(localPaths('/data'))).toContain('/data/kafka/logs/server.log');
  });
});

describe('processes and their records', () => {
  it('recognizes a process, and distinguishes it from another one with the same id', async () => {
    const own = await ownIdentity();
    expect(await isAlive(own)).toBe(true);
    expect(await isAlive({ ...own, startedAt: '1' })).toBe(false);
    expect(await describeProcess(2 ** 22 + 5)).toBeUndefined();
  });

  it('kills one that ignores SIGTERM', async () => {
    const dir = await tempDir();
    const outputFile = join(dir, 'out');
    const deaf = spawnDetached('sh', ['-c', 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'], { outputFile, cwd: dir });
    const identity = { pid: deaf.pid!, startedAt: (await describeProcess(deaf.pid!))!.startedAt };
    await expect.poll(() => readFile(outputFile, 'utf8'), { timeout: 10_000 }).toBe('deaf\n');
    await endProcess(identity, 300);
    expect(await isAlive(identity)).toBe(false);
    await endProcess(identity, 300);
  });

  it('finds no broker if the record is of another process, or cannot be read', async () => {
    const paths = localPaths(await tempDir());
    await mkdir(paths.root, { recursive: true });
    expect(await readRecord(paths)).toBeUndefined();
    await writeRecord(paths, { ports: { broker: 1, controller: 2 }, broker: await ownIdentity() });
    expect(await findBroker(paths, await readRecord(paths))).toEqual({ kind: 'none' });
    for (const text of ['', '{', '{"ports":{}}', '{"ports":{"broker":1,"controller":"x"}}']) {
      await writeFile(paths.record, text);
      expect(await readRecord(paths)).toBeUndefined();
    }
    await writeFile(paths.record, '{"ports":{"broker":1,"controller":2},"broker":{"pid":"x"},"owner":7}');
    expect(await readRecord(paths)).toEqual({ ports: { broker: 1, controller: 2 } });
  });

  it('takes over the lock of a dead process, and waits for a live one', async () => {
    const lock = join(await tempDir(), 'deep', 'lock');
    await withLock(lock, async () => {
      await expect(withLock(lock, async () => undefined, AbortSignal.timeout(150))).rejects.toThrow();
    });
    for (const text of ['{"pid":4194309,"startedAt":"1"}']) {
      await writeFile(lock, text);
      expect(await withLock(lock, async () => 'mine')).toBe('mine');
    }
    expect(existsSync(lock)).toBe(false);
  });
});
