// The embedded store: one process that hosts the engine and serves ClickHouse's HTTP interface on 127.0.0.1. Acknowledged data is written
// to the operating system: killing the process loses nothing that was acknowledged, and any other insert is repeated with its token. The
// process holds a lock on the directory.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PlatformError, messageOf } from '../../streams/core/errors.ts';
import type { Logger } from '../../streams/core/ports.ts';
import { replaceFile } from '../lifecycle/replace-file.ts';
import { openBrokenParts } from './store/broken-parts.ts';
import { openIncoming } from './store/body.ts';
import { engineConfig, engineMemoryBytes, querySettings } from './store/engine-config.ts';
import { openEngine } from './store/engine.ts';
import { createGate } from './store/gate.ts';
import { gracefulClose } from './store/graceful-close.ts';
import { usersConfig } from './store/grants.ts';
import { createJudge } from './store/judge.ts';
import { watchOver } from './store/life.ts';
import { openOffenders } from './store/offenders.ts';
import { createStoreServer } from './store/server.ts';
import { createUnderWay } from './store/under-way.ts';

export interface StoreOptions {
  /** Data directory of the project; the store keeps everything under `<dataDir>/store`. */
  readonly dataDir: string;
  /** 0 takes the previous port if it is free, else any free one, and remembers it. */
  readonly port: number;
  /** Maximum number of concurrent queries; one slot is reserved for writes. */
  readonly sessions: number;
  /** The password that clients must send; empty disables authentication, for tests. */
  readonly password: string;
  readonly logger: Logger;
  /**
   * Allows statements to use files, sockets and processes: for measurements against the engine's own connectors, never for valuable data.
   */
  readonly open?: boolean;
  /** Ends the process when the engine cannot continue. Default: a SIGKILL to itself. */
  readonly die?: () => void;
  /**
   * UV_THREADPOOL_SIZE of this process. A running query occupies one of these threads, and file access needs some too, so at most
   * `ioThreads - 2` reads run at once, beside one write.
   */
  readonly ioThreads?: number;
  /** Memory limit of the engine, bytes. Default: a quarter of the machine's memory. */
  readonly memoryBytes?: number;
}

export interface RunningStore {
  readonly url: string;
  readonly port: number;
  /** Resolves when the engine answers; throws otherwise. */
  health(): Promise<void>;
  /** Rejects new requests, waits for running ones, and closes the engine; what does not end in time ends with the process. */
  stop(): Promise<void>;
}

const MiB = 1024 * 1024;
const NODE_IO_THREADS = 4;
/** Timeout for running requests, and again for everything after them. */
const STOP_MS = 4_000;
const STOP_ENGINE_MS = 2_000;

/** Environment variables that a process needs at its start to run this many sessions. */
export const storeEnvironment = (sessions: number): { readonly UV_THREADPOOL_SIZE: string } => ({
  UV_THREADPOOL_SIZE: String(sessions + NODE_IO_THREADS),
});

/** Throws STORE_LOCKED when another store has the directory, PORT_IN_USE when the port is taken. */
export async function startStore(options: StoreOptions): Promise<RunningStore> {
  const folder = resolve(options.dataDir, 'store');
  await mkdir(join(folder, 'data'), { recursive: true });
  const memoryBytes = options.memoryBytes ?? engineMemoryBytes();
  const [configFile, usersFile] = [join(folder, 'engine.xml'), join(folder, 'users.xml')];
  await writeFile(usersFile, usersConfig(options.open === true));
  await writeFile(configFile, engineConfig(memoryBytes, usersFile));
  const engine = await openEngine({ path: join(folder, 'data'), configFile });
  const incoming = incomingFolder(folder);
  await openIncoming(incoming);
  const readers = Math.max(1, Math.min(options.sessions - 1, (options.ioThreads ?? NODE_IO_THREADS) - 2));
  const gate = createGate({ readers, queueLimit: 1_000, maxWaitMs: 60_000 });
  const offenders = openOffenders(join(folder, 'ended-by.json'));
  const brokenParts = openBrokenParts(join(folder, 'data'), join(folder, 'broken-parts.json'));
  const life = watchOver({ engine, offenders, brokenParts, logger: options.logger, die: options.die ?? killSelf });
  const server = createStoreServer({
    ...{ engine, gate, life, judge: options.open === true ? async () => undefined : createJudge(engine, offenders) },
    incoming,
    underWay: createUnderWay(),
    limits: { textBytes: 64 * MiB, rowsBytes: 2_048 * MiB },
    defaults: querySettings({ memoryBytes, threads: Math.max(2, Math.floor(availableParallelism() / 2)), maxResultBytes: 256 * MiB }),
    password: options.password,
    logger: options.logger,
  });
  const close = gracefulClose(server, STOP_MS);
  const stop = async (): Promise<void> => {
    const late = setTimeout(() => {
      life.end('it was asked to stop, and its statements do not end');
    }, STOP_MS + STOP_ENGINE_MS);
    await close();
    await gate.idle();
    await engine.close();
    clearTimeout(late);
    life.close();
  };
  try {
    const port = await listen(server, folder, options.port);
    options.logger.info({ port, version: engine.version, readers, memoryBytes }, 'store is listening');
    return { url: `http://127.0.0.1:${port}`, port, stop, health: () => life.health() };
  } catch (error) {
    life.close();
    await engine.close();
    throw error;
  }
}

/** Not an exit: that would run the engine's exit handlers, which wait for its threads. */
const killSelf = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

/** The engine treats `*?{}[]` in a path as a pattern: then rows pass through the folder for temporary files. */
const incomingFolder = (folder: string): string =>
  /[*?{}[\]]/.test(folder) ? join(tmpdir(), `turnstream-store-${process.pid}`) : join(folder, 'incoming');

async function listen(server: Server, folder: string, wanted: number): Promise<number> {
  const file = join(folder, 'port');
  if (wanted !== 0) {
    const port = await listenOn(server, wanted).catch((cause: unknown) => {
      throw new PlatformError(
        'PORT_IN_USE',
        `starting the store: port ${wanted} cannot be used (${messageOf(cause)}). Stop the other program or set TURNSTREAM_STORE_PORT`,
        { cause },
      );
    });
    await remember(file, port);
    return port;
  }
  const last = Number(await readFile(file, 'utf8').catch(() => '0'));
  const usable = Number.isInteger(last) && last > 0 && last < 65_536;
  const port = await listenOn(server, usable ? last : 0).catch(() => listenOn(server, 0));
  await remember(file, port);
  return port;
}

function listenOn(server: Server, port: number): Promise<number> {
  return new Promise((resolvePort, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.removeListener('error', reject);
      const address = server.address();
      resolvePort(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

const remember = (file: string, port: number): Promise<void> => replaceFile(file, `${port}\n`);
