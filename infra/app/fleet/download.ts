// Shows the download of Kafka at the first start: as the phase in a terminal, otherwise as a line at intervals.
import type { OnDownload } from '../../kafka/broker/maven-download.ts';
import type { CrewOptions } from './crew.ts';

const LINE_MS = 2_000;

type DownloadReporting = Pick<CrewOptions, 'progress' | 'onChange'>;

export function tellDownload({ progress, onChange }: DownloadReporting, nowMs = (): number => performance.now()): OnDownload {
  let toldMs = -Infinity;
  return (downloaded) => {
    if (downloaded === undefined) {
      progress.phase('starting Kafka');
      return;
    }
    const { files, bytes } = downloaded;
    const megabytes = Math.round(bytes / 1e5) / 10;
    progress.phase(`downloading Apache Kafka, which is done once: ${files} files, ${megabytes.toFixed(1)} MB`);
    if (nowMs() - toldMs < LINE_MS) return;
    toldMs = nowMs();
    onChange('downloading', { what: 'Apache Kafka', files, megabytes });
  };
}
