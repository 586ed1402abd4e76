// A short version of `npm run torture:sink`: every crash point of the sink, on tables without deduplication.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useKafka } from '../../testing/kafka.ts';
import { startTestStore } from '../../testing/store.ts';
import { sinkPoints, tortureSink } from './sink-lane.ts';

it('a sink that is killed and loses its offsets duplicates and loses no row without deduplication', { timeout: 400_000 }, async () => {
  const [{ brokers, namespace }, store] = await Promise.all([useKafka(), startTestStore()]);
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-sink-torture-'));
  try {
    const found = await tortureSink({
      brokers,
      namespace,
      dataDir,
      storeUrl: store.url,
      kills: 2 * sinkPoints.length,
      seed: 6,
      onKill: () => undefined,
    });
    expect(found).toMatchObject({ doubled: 0, lost: 0, changed: 0, equal: true });
    expect(Object.keys(found.kills).sort()).toEqual([...sinkPoints].sort());
    expect(found.forgotten).toBeGreaterThan(0);
  } finally {
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
