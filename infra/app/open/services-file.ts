// `<data directory>/services.json`: the addresses of the services of a running `up` or `serve`. It is a hint: the reader checks that the
// process that wrote it is alive, and whoever uses an address finds out whether it answers. Only its owner can read it, because an address
// may hold a password.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sameProcessAlive, startMarkOf } from '../../lifecycle/process-alive.ts';

/** Service addresses, in the format of the configuration. */
export interface ConfiguredAddresses {
  readonly kafkaBrokers: readonly string[];
  readonly clickhouseUrl: string;
  readonly apiUrl: string;
  readonly registryUrl: string;
  /** The configured API port, if the API listens on another one because a program already uses it. */
  readonly apiPortTaken?: number;
}

export interface ServicesFile extends ConfiguredAddresses {
  /** The supervisor. */
  readonly pid: number;
  readonly mark: string;
  readonly run: string;
  readonly startedAt: string;
  readonly processes: Readonly<Record<string, number>>;
}

export const servicesPath = (dataDir: string): string => join(dataDir, 'services.json');

/** Writes the file atomically: a reader sees the old content or the new one. */
export function writeServices(dataDir: string, services: Omit<ServicesFile, 'pid' | 'mark'>): void {
  const path = servicesPath(dataDir);
  mkdirSync(dirname(path), { recursive: true });
  const file: ServicesFile = { ...services, pid: process.pid, mark: startMarkOf(process.pid) };
  writeFileSync(`${path}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function removeServices(dataDir: string): void {
  rmSync(servicesPath(dataDir), { force: true });
}

/** The services of the `up` or `serve` that runs in this data directory; undefined when there is none. */
export function readServices(dataDir: string): ServicesFile | undefined {
  try {
    const file = JSON.parse(readFileSync(servicesPath(dataDir), 'utf8')) as Partial<ServicesFile> | null;
    const fits = typeof file?.pid === 'number' && typeof file.mark === 'string' && Array.isArray(file.kafkaBrokers);
    return fits && sameProcessAlive(file.pid ?? 0, file.mark ?? '') ? (file as ServicesFile) : undefined;
  } catch {
    return undefined;
  }
}
