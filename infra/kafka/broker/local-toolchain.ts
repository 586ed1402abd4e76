// Finds Java and the jars of Apache Kafka. Maven is needed only when the jars are missing.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, PlatformError } from '../../../streams/core/errors.ts';
import type { Logger } from '../../../streams/core/ports.ts';
import { KAFKA_VERSION, pomText, type LocalPaths } from './local-files.ts';
import { withLock } from './local-lock.ts';
import { watchDownload, type OnDownload } from './maven-download.ts';

const run = promisify(execFile);

const MIN_JAVA = 17;
const DOWNLOAD_TIMEOUT_MS = 600_000;

/** Commands to run; tests replace them to simulate missing tools. */
export interface Toolchain {
  readonly java: string;
  readonly maven: string;
}

export const systemToolchain: Toolchain = { java: 'java', maven: process.platform === 'win32' ? 'mvn.cmd' : 'mvn' };

const waysOn = `Do one of these:
  - install Java ${MIN_JAVA} or newer and Maven, so that \`java -version\` and \`mvn -version\` work, and start again;
  - set KAFKA_BROKERS=host:port to use a Kafka that is running already;
  - run \`docker compose -f infra/docker/compose.yml up -d\` and set KAFKA_BROKERS to its address.`;

/** Throws TOOLCHAIN_MISSING unless Java 17 or newer is installed. */
export async function assertJava(toolchain: Toolchain): Promise<void> {
  let text: string;
  try {
    const { stdout, stderr } = await run(toolchain.java, ['-version'], { timeout: 20_000 });
    text = `${stderr}\n${stdout}`;
  } catch (cause) {
    throw new PlatformError(
      'TOOLCHAIN_MISSING',
      `starting the local Kafka: Java ${MIN_JAVA} or newer is needed and \`java\` was not found. ${waysOn}`,
      {
        cause,
      },
    );
  }
  const version = javaVersionOf(text);
  if (version !== undefined && version < MIN_JAVA) {
    throw new PlatformError(
      'TOOLCHAIN_MISSING',
      `starting the local Kafka: Java ${MIN_JAVA} or newer is needed and \`java\` is version ${version}. ${waysOn}`,
    );
  }
}

/** Parses the major version from the output of `java -version`: 8 for 1.8, else the first number; undefined when there is none. */
export function javaVersionOf(text: string): number | undefined {
  const match = /version "?(\d+)(?:\.(\d+))?/.exec(text);
  if (match === null) return undefined;
  const [major, minor] = [Number(match[1]), Number(match[2] ?? 0)];
  return major === 1 ? minor : major;
}

export interface JarsOptions {
  readonly toolchain: Toolchain;
  readonly logger: Logger;
  readonly signal?: AbortSignal;
  /** Called during the download; never when the jars exist. */
  readonly onDownload?: OnDownload;
}

/** Makes sure that the jars exist; downloads them from Maven Central once, however many processes call it. */
export async function ensureJars(paths: LocalPaths, options: JarsOptions): Promise<void> {
  if (existsSync(paths.mainJar)) return;
  const lock = `${paths.libs}.lock`;
  await withLock(
    lock,
    async () => {
      if (!existsSync(paths.mainJar)) await downloadJars(paths, options);
    },
    options.signal,
  );
}

async function downloadJars(paths: LocalPaths, options: JarsOptions): Promise<void> {
  options.logger.info({ version: KAFKA_VERSION, into: paths.libs }, 'downloading Apache Kafka from Maven Central (43 MB, once)');
  await mkdir(dirname(paths.libs), { recursive: true });
  const work = await mkdtemp(join(dirname(paths.libs), 'download-'));
  const pom = join(work, 'pom.xml');
  const target = join(work, 'libs');
  try {
    await writeFile(pom, pomText);
    const args = ['-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${target}`, '-DincludeScope=runtime'];
    const limits = {
      timeout: DOWNLOAD_TIMEOUT_MS,
      maxBuffer: 16 * 1024 * 1024,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
    const downloading = run(options.toolchain.maven, args, limits);
    watchDownload(downloading.child.stdout, options.onDownload);
    await downloading.catch((cause: unknown) => {
      throw downloadError(cause);
    });
    await rm(paths.libs, { recursive: true, force: true });
    await rename(target, paths.libs);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function downloadError(cause: unknown): PlatformError {
  const missing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
  if (missing) {
    return new PlatformError(
      'TOOLCHAIN_MISSING',
      `downloading Apache Kafka ${KAFKA_VERSION}: Maven is needed once and \`mvn\` was not found. ${waysOn}`,
      { cause },
    );
  }
  const output = cause instanceof Error && 'stdout' in cause ? String(cause.stdout) : '';
  const errors = output.split('\n').filter((line) => line.startsWith('[ERROR]'));
  const lines = (errors.length > 0 ? errors : messageOf(cause).split('\n')).slice(0, 12).join('\n');
  return new PlatformError('TOOLCHAIN_MISSING', `downloading Apache Kafka ${KAFKA_VERSION}: Maven failed:\n${lines}\n${waysOn}`, {
    cause,
  });
}
