import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { watchDownload, type Downloaded } from '../../kafka/broker/maven-download.ts';
import { tellDownload } from './download.ts';
import { createProgress } from './progress.ts';

const output = `[INFO] Scanning for projects...
Downloading from central: https://repo.example/maven2/org/apache/kafka/kafka-clients/4.3.0/kafka-clients-4.3.0.jar
[INFO] Downloading from mirror-1: https://repo.example/a.pom
[INFO] Downloaded from mirror-1: https://repo.example/a.pom (7.7 kB at 8.1 kB/s)
Progress (1): 3.1/10 MB
Downloaded from central: https://repo.example/kafka-clients-4.3.0.jar (10 MB at 5.1 MB/s)
[INFO] Downloaded from central: https://repo.example/maven-metadata.xml (512 B at 1.0 kB/s)
[INFO] BUILD SUCCESS
`;

describe('the download of Kafka', () => {
  it('is read from the output of Maven', async () => {
    const stream = new PassThrough();
    const told: (Downloaded | undefined)[] = [];
    const over = new Promise<void>((resolve) => {
      watchDownload(stream, (downloaded) => {
        told.push(downloaded);
        if (downloaded === undefined) resolve();
      });
    });
    for (const part of output.match(/[^]{1,37}/g) ?? []) stream.write(part);
    stream.end();
    await over;
    expect(told).toEqual([{ files: 1, bytes: 7_700 }, { files: 2, bytes: 10_007_700 }, { files: 3, bytes: 10_008_212 }, undefined]);
    watchDownload(null, () => undefined);
  });

  it('is shown as the phase in a terminal, otherwise as a line at intervals', () => {
    let nowMs = 0;
    const lines: unknown[] = [];
    const progress = createProgress({ run: 'r', steps: 0, nowMs: () => nowMs, dateMs: () => nowMs });
    const told = tellDownload({ progress, onChange: (kind, fields) => lines.push([kind, fields]) }, () => nowMs);
    for (let files = 1; files <= 50; files += 1) {
      told({ files, bytes: files * 1e6 });
      expect(progress.snapshot().phase).toBe(`downloading Apache Kafka, which is done once: ${files} files, ${files}.0 MB`);
      nowMs += 100;
    }
    expect(lines).toEqual([1, 21, 41].map((files) => ['downloading', { what: 'Apache Kafka', files, megabytes: files }]));
    told(undefined);
    expect(progress.snapshot().phase).toBe('starting Kafka');
  });
});
