import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { preflight } from '../../../cli/up/preflight.ts';
import { fileEndNotes, finishedSteps } from './run-ends.ts';

let dataDir = '';
const config = (env: Readonly<Record<string, string>> = {}) => loadConfig({ TURNSTREAM_DATA_DIR: dataDir, ...env });
/** Writes what a started Kafka leaves in this data directory. */
function cluster(id: string): void {
  mkdirSync(join(dataDir, 'kafka', 'data'), { recursive: true });
  writeFileSync(join(dataDir, 'kafka', 'data', 'meta.properties'), `#\n#Mon Nov 23\ncluster.id=${id}\nversion=1\nnode.id=1\n`);
}
const note = (run: string, steps: number, id = 'cluster-1') => fileEndNotes(config(), run, async () => id).write(steps);

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'turnstream-ends-'));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

describe('the note of the end of a run', () => {
  it('belongs to one run of one log, and is gone after it is removed', async () => {
    expect(finishedSteps(config(), 'a')).toBeUndefined();
    await note('a', 150);
    expect(finishedSteps(config(), 'a'), 'there is no log').toBeUndefined();
    cluster('cluster-1');
    expect(finishedSteps(config(), 'a')).toBe(150);
    expect(finishedSteps(config(), 'b')).toBeUndefined();
    expect(finishedSteps(config({ TURNSTREAM_NAMESPACE: 'other' }), 'a')).toBeUndefined();
    expect(finishedSteps(config({ KAFKA_BROKERS: 'elsewhere:9092' }), 'a')).toBeUndefined();
    await fileEndNotes(config(), 'a', async () => '').remove();
    await fileEndNotes(config(), 'a', async () => '').remove();
    expect(finishedSteps(config(), 'a')).toBeUndefined();
  });

  it('is ignored for a log that was created anew, and when it is damaged', async () => {
    await note('a', 150);
    cluster('cluster-2');
    expect(finishedSteps(config(), 'a')).toBeUndefined();
    cluster('cluster-1');
    for (const text of ['', '{', 'null', '[]', '{"steps":"many","cluster":"cluster-1"}']) {
      writeFileSync(join(dataDir, 'finished', 'turnstream.a.json'), text);
      expect(finishedSteps(config(), 'a')).toBeUndefined();
    }
  });

  it('rejects a start before anything else is checked, unless more steps are requested', async () => {
    cluster('cluster-1');
    await note('a', 150);
    const nothing = { java: 'java-that-is-not-there', maven: 'mvn' };
    const starting = (run: string, steps: number): Promise<void> =>
      preflight({ config: config(), training: { run, steps, seed: 1, workers: 1, evaluate: true }, apiPortFixed: false }, nothing);
    for (const steps of [0, 1, 150]) {
      await expect(starting('a', steps)).rejects.toMatchObject({
        code: 'RUN_FINISHED',
        message: expect.stringMatching(/^resuming run a: it finished after step 150\. `turnstream serve` opens it/) as string,
      });
    }
    await expect(starting('a', 151)).rejects.toMatchObject({ code: 'TOOLCHAIN_MISSING' });
    await expect(starting('b', 0)).rejects.toMatchObject({ code: 'TOOLCHAIN_MISSING' });
  });
});
