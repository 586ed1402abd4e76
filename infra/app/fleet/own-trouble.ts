// What ails `up` itself: a full disk, a services file that cannot be written. It ends nothing; it is told until it is over.
// And what the data directory takes of its disk, with a warning before that is full.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import { freeBytes } from '../../lifecycle/disk-full.ts';
import { createDiskForecast } from '../../lifecycle/disk-forecast.ts';
import { diskText, type DiskUse } from '../../lifecycle/disk-use.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import { writeServices, type ServicesFile } from '../open/services-file.ts';

/** With less the disk counts as full, bytes. Kafka and the store stop writing about here. */
const ROOM = 16 * 1024 * 1024;

export interface OwnTroubleOptions {
  readonly dataDir: string;
  /** Called when it changes; `isNews` when trouble or a warning came or went, not when a figure changed. */
  readonly onStatus: (status: RoleStatus, isNews: boolean) => void;
  /** How often the disk is looked at and a write is tried again, ms; 2 s unless given. */
  readonly lookMs?: number;
  readonly free?: (path: string) => Promise<number>;
  /** What the data directory takes. */
  readonly measure?: () => Promise<DiskUse | undefined>;
  /** How often it is measured, ms; every minute unless given. */
  readonly measureMs?: number;
  /** Told of every measurement. */
  readonly onMeasured?: (use: DiskUse) => void;
}

export interface OwnTrouble {
  /** Writes the services file; when that fails, again until it works. The newest counts. */
  publish(services: Omit<ServicesFile, 'pid' | 'mark'>): void;
  close(): void;
}

/** Watches until it is closed. Nothing is reported before there is something to tell. */
export function watchOwnTrouble(options: OwnTroubleOptions): OwnTrouble {
  return new OwnWatch(options);
}

/** `full` and `file` are trouble, `warning` and `use` are not. */
interface Texts {
  full: string;
  file: string;
  warning: string;
  use: string;
}

class OwnWatch implements OwnTrouble {
  readonly #options: OwnTroubleOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #forecast = createDiskForecast();
  readonly #texts: Texts = { full: '', file: '', warning: '', use: '' };
  #told = '';
  #toldNews = '';
  #closed = false;
  #unwritten: Parameters<OwnTrouble['publish']>[0] | undefined;

  constructor(options: OwnTroubleOptions) {
    this.#options = options;
    const { lookMs = 2_000, measureMs = 60_000, measure } = options;
    const look = setInterval(() => void this.#look(), lookMs).unref();
    if (measure === undefined) this.#timers = [look];
    else {
      void this.#measure(measure);
      this.#timers = [look, setInterval(() => void this.#measure(measure), measureMs).unref()];
    }
  }

  publish(services: Parameters<OwnTrouble['publish']>[0]): void {
    this.#unwritten = services;
    this.#tell({ file: this.#written() });
  }

  close(): void {
    this.#closed = true;
    this.#unwritten = undefined;
    for (const timer of this.#timers) clearInterval(timer);
  }

  #tell(change: Partial<Texts>): void {
    if (this.#closed) return;
    Object.assign(this.#texts, change);
    const { full, file, warning, use } = this.#texts;
    const trouble = full === '' ? file : full;
    const detail = [trouble, trouble === '' ? warning : '', use].filter((text) => text !== '').join('; ');
    if (detail === this.#told) return;
    this.#told = detail;
    // Figures in a warning change all the time.
    const news = trouble === '' && warning !== '' ? 'warning' : trouble;
    const isNews = news !== this.#toldNews;
    this.#toldNews = news;
    this.#options.onStatus({ state: trouble === '' ? 'live' : 'waiting', detail, figures: {} }, isNews);
  }

  /** Why it could not be written; empty when it was. */
  #written(): string {
    if (this.#unwritten === undefined) return '';
    try {
      writeServices(this.#options.dataDir, this.#unwritten);
      this.#unwritten = undefined;
      return '';
    } catch (error) {
      return `for a place to write services.json: ${messageOf(error)}`;
    }
  }

  async #look(): Promise<void> {
    const { dataDir, free = freeBytes } = this.#options;
    const bytes = await free(dataDir).catch(() => Number.POSITIVE_INFINITY);
    const full = `for space: the disk of ${dataDir} is full; free some, and everything goes on by itself`;
    const warning = Number.isFinite(bytes) ? this.#forecast.look(bytes, performance.now()) : '';
    const wasFull = this.#texts.full !== '';
    this.#tell({ full: bytes < ROOM ? full : '', warning, file: this.#written() });
    // What the last measurement says is free would contradict it.
    if (wasFull !== bytes < ROOM && this.#options.measure !== undefined) await this.#measure(this.#options.measure);
  }

  async #measure(measure: NonNullable<OwnTroubleOptions['measure']>): Promise<void> {
    const use = await measure().catch(() => undefined);
    if (use === undefined || this.#closed) return;
    this.#options.onMeasured?.(use);
    this.#tell({ use: `disk ${diskText(use)}` });
  }
}
