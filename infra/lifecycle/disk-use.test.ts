import fc from 'fast-check';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDiskForecast, LOW_BYTES } from './disk-forecast.ts';
import { bytesText, diskText, measureDisk } from './disk-use.ts';

function dataDir(files: Readonly<Record<string, number>>): string {
  const root = mkdtempSync(join(tmpdir(), 'turnstream-disk-'));
  onTestFinished(() => {
    rmSync(root, { recursive: true });
  });
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), Buffer.alloc(bytes, 1));
  }
  return root;
}

describe('the disk usage of the data directory', () => {
  it('is divided into topics, tables, the Kafka program, and the rest', async () => {
    const root = dataDir({
      'kafka/data/lab.rollouts-0/0.log': 40_000,
      'kafka/data/lab.rollouts-1/0.log': 40_000,
      'kafka/data/lab.dead-letters-0/0.log': 8_000,
      'kafka/data/other.rollouts-0/0.log': 4_096,
      'kafka/data/__consumer_offsets-3/0.log': 4_096,
      'kafka/data/meta.properties': 100,
      'kafka/libs/kafka.jar': 20_000,
      'store/data/part/data.bin': 60_000,
      'snapshots/run': 10,
    });
    truncateSync(join(root, 'kafka/data/lab.rollouts-0/0.log'), 40_000);
    const found = await measureDisk(root, 'lab');
    const parts = new Map(found?.parts.map(({ part, bytes }) => [part, bytes]));
    expect([...parts.keys()].sort()).toEqual(['kafka', 'log.dead-letters', 'log.other', 'log.rollouts', 'other', 'tables']);
    expect(parts.get('log.rollouts')).toBeGreaterThanOrEqual(80_000);
    expect(parts.get('log.rollouts')).toBeLessThan(120_000);
    expect(found?.bytes).toBe([...parts.values()].reduce((sum, bytes) => sum + bytes, 0));
    expect(found?.parts[0]?.part).toBe('log.rollouts');
    expect(found?.free_bytes).toBeLessThan(found?.disk_bytes ?? 0);
    const text = diskText(found!);
    for (const part of ['rollouts 8', 'dead-letters', 'tables 6', 'kafka ', ' free']) expect(text).toContain(part);
  });

  it('is unknown without a directory, and counts only allocated blocks', async () => {
    expect(await measureDisk(join(tmpdir(), 'turnstream-nowhere'), 'lab')).toBeUndefined();
    const root = dataDir({ 'kafka/data/lab.tasks-0/0.index': 0 });
    truncateSync(join(root, 'kafka/data/lab.tasks-0/0.index'), 10_000_000);
    expect((await measureDisk(root, 'lab'))?.bytes).toBeLessThan(100_000);
    expect(diskText({ bytes: 0, free_bytes: 5e9, disk_bytes: 9e9, parts: [] })).toBe('0 kB; 5.0 GB free');
  });

  it.each([
    [0, '0 kB'],
    [999_499, '999 kB'],
    [1_600_000, '2 MB'],
    [31_000_000_000, '31.0 GB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });
});

describe('the warning before a disk is full', () => {
  const MINUTE = 60_000;

  it('comes in time at any steady rate, and never at rate 0', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10e9, max: 1e12 }), fc.integer({ min: 0, max: 500_000_000 }), (free, bytesAMinute) => {
        const forecast = createDiskForecast();
        let warned = Number.NaN;
        for (let minute = 0; minute < 400 && Number.isNaN(warned); minute += 0.25) {
          const left = free - minute * bytesAMinute;
          if (left <= 0) break;
          if (forecast.look(left, minute * MINUTE) !== '') warned = left / bytesAMinute;
        }
        const fullWithin = free / bytesAMinute;
        if (fullWithin > 2 && fullWithin < 400) expect(warned).toBeGreaterThan(Math.min(119, fullWithin - 1.5));
        if (bytesAMinute === 0) expect(warned).toBeNaN();
      }),
    );
  });

  it('ends when the rate falls, ignores old samples, and comes whatever the rate when little space is left', () => {
    const forecast = createDiskForecast();
    expect(forecast.look(20e9, 0)).toBe('');
    expect(forecast.look(19e9, MINUTE)).toMatch(/full in about 19 min .*19\.0 GB free/);
    expect(forecast.look(50e9, 2 * MINUTE)).toBe('');
    for (let minute = 3; minute < 20; minute += 1) forecast.look(19e9, minute * MINUTE);
    expect(forecast.look(19e9, 20 * MINUTE)).toBe('');
    expect(forecast.look(18.5e9, 21 * MINUTE)).toBe('');
    expect(forecast.look(LOW_BYTES - 1, 0)).toContain('2.0 GB left');
  });
});
