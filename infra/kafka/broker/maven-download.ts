// Tracks the progress of a Maven download from its output.
import { createInterface } from 'node:readline';

export interface Downloaded {
  readonly files: number;
  readonly bytes: number;
}

/** `[INFO] Downloaded from central: https://…/kafka-clients-4.3.0.jar (10 MB at 5.1 MB/s)` */
const LINE = /Downloaded from \S+: \S+ \(([\d.]+) ([kMG]?)B at /;
const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9 };

/** Called with the totals so far, and with undefined at the end. */
export type OnDownload = (downloaded: Downloaded | undefined) => void;

/** Calls back for each file; Maven rounds their sizes. */
export function watchDownload(output: NodeJS.ReadableStream | null, onDownload: OnDownload | undefined): void {
  if (output === null || onDownload === undefined) return;
  let [files, bytes] = [0, 0];
  const lines = createInterface({ input: output });
  lines.once('close', () => {
    onDownload(undefined);
  });
  lines.on('line', (line) => {
    const found = LINE.exec(line);
    if (found === null) return;
    files += 1;
    bytes += Number(found[1]) * (UNITS[found[2] ?? ''] ?? 1);
    onDownload({ files, bytes });
  });
}
