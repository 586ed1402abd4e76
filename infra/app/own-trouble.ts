// What ails `up` itself: a full disk, a services file that cannot be written. It ends nothing; it is told until it is over.
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { freeBytes } from '../lifecycle/disk-full.ts';
import { messageOf } from '../../streams/core/errors.ts';
import { writeServices, type ServicesFile } from './services-file.ts';

/** With less the disk counts as full, bytes. Kafka and the store stop writing about here. */
const ROOM = 16 * 1024 * 1024;

export interface OwnTroubleOptions {
  readonly dataDir: string;
  /** Called when it changes. */
  readonly onStatus: (status: RoleStatus) => void;
  /** How often the disk is looked at and a write is tried again, ms; 2 s unless given. */
  readonly lookMs?: number;
  readonly free?: (path: string) => Promise<number>;
}

export interface OwnTrouble {
  /** Writes the services file; when that fails, again until it works. The newest counts. */
  publish(services: Omit<ServicesFile, 'pid' | 'mark'>): void;
  close(): void;
}

/** Watches until it is closed. Nothing is reported before there is trouble. */
export function watchOwnTrouble(options: OwnTroubleOptions): OwnTrouble {
  const { dataDir, onStatus, free = freeBytes } = options;
  const trouble = { disk: '', file: '' };
  let [told, closed] = ['', false];
  let unwritten: Parameters<OwnTrouble['publish']>[0] | undefined;

  function tell(change: Partial<typeof trouble>): void {
    if (closed) return;
    Object.assign(trouble, change);
    const detail = trouble.disk === '' ? trouble.file : trouble.disk;
    if (detail === told) return;
    told = detail;
    onStatus({ state: detail === '' ? 'live' : 'waiting', detail, figures: {} });
  }

  /** Why it could not be written; empty when it was. */
  function written(): string {
    if (unwritten === undefined) return '';
    try {
      writeServices(dataDir, unwritten);
      unwritten = undefined;
      return '';
    } catch (error) {
      return `for a place to write services.json: ${messageOf(error)}`;
    }
  }

  async function look(): Promise<void> {
    const bytes = await free(dataDir).catch(() => Number.POSITIVE_INFINITY);
    const disk = `for space: the disk of ${dataDir} is full; free some, and everything goes on by itself`;
    tell({ disk: bytes < ROOM ? disk : '', file: written() });
  }

  const timer = setInterval(() => void look(), options.lookMs ?? 2_000).unref();
  return {
    publish(services) {
      unwritten = services;
      tell({ file: written() });
    },
    close() {
      closed = true;
      unwritten = undefined;
      clearInterval(timer);
    },
  };
}
