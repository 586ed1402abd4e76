import { readFile } from 'node:fs/promises';
import { replaceFile } from '../../lifecycle/replace-file.ts';
import type { LocalPaths, LocalPorts } from './local-files.ts';
import { describeProcess, isAlive, type ProcessIdentity } from './local-process.ts';

/** The record of the broker of a data directory: its ports always, the rest while it is running. */
export interface BrokerRecord {
  readonly ports: LocalPorts;
  readonly broker?: ProcessIdentity;
  /** The process that started it or took it over. */
  readonly owner?: ProcessIdentity;
}

export async function readRecord(paths: LocalPaths): Promise<BrokerRecord | undefined> {
  try {
    const value = JSON.parse(await readFile(paths.record, 'utf8')) as Partial<BrokerRecord>;
    const ports: Partial<LocalPorts> | undefined = value.ports;
    if (typeof ports?.broker !== 'number' || typeof ports.controller !== 'number') return undefined;
    return {
      ports: { broker: ports.broker, controller: ports.controller },
      ...(isIdentity(value.broker) ? { broker: value.broker } : {}),
      ...(isIdentity(value.owner) ? { owner: value.owner } : {}),
    };
  } catch {
    return undefined;
  }
}

const isIdentity = (value: Partial<ProcessIdentity> | undefined): value is ProcessIdentity =>
  typeof value?.pid === 'number' && typeof value.startedAt === 'string';

export const writeRecord = (paths: LocalPaths, record: BrokerRecord): Promise<void> =>
  replaceFile(paths.record, JSON.stringify(record), `${paths.record}.${process.pid}`);

export type BrokerLookup =
  | { readonly kind: 'none' }
  /** It is running, and the process responsible for it is gone. */
  | { readonly kind: 'orphan'; readonly broker: ProcessIdentity; readonly ports: LocalPorts }
  /** It is running for another live process. */
  | { readonly kind: 'shared'; readonly broker: ProcessIdentity; readonly ports: LocalPorts };

/**
 * Looks for a running broker of this data directory. Its command line must contain our properties file: an unrelated process with the same
 * id is left alone.
 */
export async function findBroker(paths: LocalPaths, record: BrokerRecord | undefined): Promise<BrokerLookup> {
  if (record?.broker === undefined) return { kind: 'none' };
  const running = await describeProcess(record.broker.pid);
  if (running?.startedAt !== record.broker.startedAt || !running.command.includes(paths.properties)) return { kind: 'none' };
  const { broker, ports, owner } = record;
  const owned = owner !== undefined && owner.pid !== process.pid && (await isAlive(owner));
  return { kind: owned ? 'shared' : 'orphan', broker, ports };
}
