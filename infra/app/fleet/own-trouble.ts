// Problems of `up` itself: a full disk, or a services file that cannot be written. They end nothing and are reported until they are over.
// Also measures the disk usage of the data directory and warns before the disk is full.
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import { freeBytes } from '../../lifecycle/disk-full.ts';
import { createDiskForecast } from '../../lifecycle/disk-forecast.ts';
import { diskText, type DiskUse } from '../../lifecycle/disk-use.ts';
import { messageOf } from '../../../streams/core/errors.ts';
import { writeServices, type ServicesFile } from '../open/services-file.ts';

/** With less free space the disk counts as full, bytes. Kafka and the store stop writing at about this level. */
const ROOM = 16 * 1024 * 1024;

export interface OwnTroubleOptions {
  readonly dataDir: string;
  /** Called on every change; `isNews` when a problem or a warning appeared or went away, false when only a number changed. */
  readonly onStatus: (status: RoleStatus, isNews: boolean) => void;
  /** How often the disk is checked and a failed write is retried, ms. Default: 2 s. */
  readonly lookMs?: number;
  readonly free?: (path: string) => Promise<number>;
  /** Measures the disk usage of the data directory. */
  readonly measure?: () => Promise<DiskUse | undefined>;
  /** How often it is measured, ms. Default: every minute. */
  readonly measureMs?: number;
  /** Called after every measurement. */
  readonly onMeasured?: (use: DiskUse) => void;
}

export interface OwnTrouble {
  /** Writes the services file and retries until it works. The newest content wins. */
  publish(services: Omit<ServicesFile, 'pid' | 'mark'>): void;
  close(): void;
}

/** Watches until it is closed. Reports nothing while all is well. */
export function watchOwnTrouble(options: OwnTroubleOptions): OwnTrouble {
  return new OwnWatch(options);
}

/** `full` and `file` are problems; `warning` and `use` are not. */
interface TroubleTexts {
  full: string;
  file: string;
  warning: string;
  use: string;
}

class OwnWatch implements OwnTrouble {
  readonly #options: OwnTroubleOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #forecast = createDiskForecast();
  readonly #texts: TroubleTexts = { full: '', file: '', warning: '', use: '' };
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

  #tell(change: Partial<TroubleTexts>): void {
    if (this.#closed) return;
    Object.assign(this.#texts, change);
    const { full, file, warning, use } = this.#texts;
    const trouble = full === '' ? file : full;
    const detail = [trouble, trouble === '' ? warning : '', use].filter((text) => text !== '').join('; ');
    if (detail === this.#told) return;
    this.#told = detail;
    // The numbers in a warning change all the time.
    const news = trouble === '' && warning !== '' ? 'warning' : trouble;
    const isNews = news !== this.#toldNews;
    this.#toldNews = news;
    this.#options.onStatus({ state: trouble === '' ? 'live' : 'waiting', detail, figures: {} }, isNews);
  }

  /** Why the file could not be written; empty when it was. */
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
    const full = `for space: the disk of ${dataDir} is full; free some, and everything continues automatically`;
    const warning = Number.isFinite(bytes) ? this.#forecast.look(bytes, performance.now()) : '';
    const wasFull = this.#texts.full !== '';
    this.#tell({ full: bytes < ROOM ? full : '', warning, file: this.#written() });
    // The free space of the last measurement would contradict the report.
    if (wasFull !== bytes < ROOM && this.#options.measure !== undefined) await this.#measure(this.#options.measure);
  }

  async #measure(measure: NonNullable<OwnTroubleOptions['measure']>): Promise<void> {
    const use = await measure().catch(() => undefined);
    if (use === undefined || this.#closed) return;
    this.#options.onMeasured?.(use);
    this.#tell({ use: `disk ${diskText(use)}` });
  }
}
