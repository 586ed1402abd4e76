import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { OutgoingEvent } from '../../../streams/core/ports.ts';
import { loadConfig } from '../../config/load.ts';
import { topicPlanOf } from '../../kafka/topics/topics.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { turn } from '../../testing/rollout-events.ts';
import { connectLog, groupsOf } from '../open/connections.ts';
import { keptText } from './kept-text.ts';
import { tidyLog } from './tidy-log.ts';

const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;

it('removes the records of old finished runs, but none of a kept run and none that are not stored', async () => {
  const { brokers, namespace } = await useKafka();
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-tidy-'));
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true });
  });
  const config = loadConfig({
    KAFKA_BROKERS: brokers.join(','),
    TURNSTREAM_NAMESPACE: namespace,
    TURNSTREAM_DATA_DIR: dataDir,
    TURNSTREAM_PARTITIONS_ROLLOUTS: '1',
    TURNSTREAM_PARTITIONS_TASKS: '1',
    TURNSTREAM_KEEP_RUNS: 'named',
  });
  const log = await connectLog({ config, clientId: 'test', logger: silentLogger });
  onTestFinished(() => log.close());
  const { kafka } = log;
  await kafka.topics.apply(topicPlanOf(config));
  const writer = await kafka.writer();
  const end = async (): Promise<number> => (await kafka.reader().bounds('rollouts'))[0]?.end ?? -1;
  const starts = new Map<string, number>();
  for (const run of ['old', 'younger', 'open', 'old-too']) {
    starts.set(run, await end());
    await kafka.runs.note(run, { training: 0, policies: 0, rollouts: [await end()], tasks: [0] });
    const events = Array.from({ length: 10 }, (_, sequence): OutgoingEvent => {
      return { type: 'TurnRecorded', key: 'g', event: turn({ trajectory: `${run}/g0.0`, sequence, run }, 0) };
    });
    await writer.append(events);
  }
  const row = (run_id: string, hours: number, ended = true) => {
    const last = NOW - hours * HOUR;
    return { run_id, ended: ended ? last : 0, entry: last, last };
  };
  const tables = [
    row('old', 200),
    row('younger', 20),
    row('open', 300, false),
    row('old-too', 200),
    { ...row('foreign', 400, false), entry: 0 },
  ];
  const store = { query: async () => tables as never };
  const tidy = (run = 'open', settings: Partial<typeof config> = {}) =>
    tidyLog({ config: { ...config, ...settings }, log, store, nowMs: NOW }, run);
  const first = async (): Promise<number> => (await kafka.reader().bounds('rollouts'))[0]?.first ?? -1;

  // Nothing is in the tables yet.
  expect((await tidy()).cuts).toEqual([]);
  await kafka.setOffsets(groupsOf(namespace).warehouse, [{ topic: 'rollouts', partition: 0, offset: 7 }]);
  expect((await tidy()).cuts).toEqual([{ topic: 'rollouts', partition: 0, offset: 7 }]);
  expect(await first()).toBe(7);
  await kafka.setOffsets(groupsOf(namespace).warehouse, [{ topic: 'rollouts', partition: 0, offset: await end() }]);
  // The current run is kept, finished or not.
  expect((await tidy('old')).cuts).toEqual([]);
  expect(await tidy()).toMatchObject({ released: ['foreign', 'old', 'old-too'], cuts: [{ offset: starts.get('younger') }] });
  expect(await first()).toBe(starts.get('younger'));

  // Too large: the younger finished run is removed as well; the open one after it stays.
  const folder = join(dataDir, 'kafka', 'data', `${namespace}.rollouts-0`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '0.log'), Buffer.alloc(1_000_000, 1));
  expect((await tidy('open', { keepLogGb: 0 })).released).toEqual(['foreign', 'old', 'old-too', 'younger']);
  expect(await first()).toBe(starts.get('open'));
  expect((await tidy('open', { keepLogGb: 0 })).cuts).toEqual([]);
});

it.each([
  [{}, 'rollouts of unfinished runs, of finished ones for 7 days and within 20 GB; ledgers, policies and tables forever'],
  [{ TURNSTREAM_KEEP_LOG_HOURS: '-1', TURNSTREAM_KEEP_LOG_GB: '-1' }, 'everything'],
  [
    { TURNSTREAM_KEEP_LOG_HOURS: '-1', TURNSTREAM_KEEP_LOG_GB: '-1', TURNSTREAM_RETENTION_HOURS: '30' },
    'rollouts of unfinished runs, of finished ones forever; all of them for 30 h at most; ledgers, policies and tables forever',
  ],
  [
    { TURNSTREAM_KEEP_LOG_GB: '-1', TURNSTREAM_KEEP_RUNS: 'a,b' },
    'rollouts of unfinished runs, of finished ones for 7 days, always those of a, b; ledgers, policies and tables forever',
  ],
  [{ KAFKA_BROKERS: 'a:1' }, 'everything'],
  [{ KAFKA_BROKERS: 'a:1', TURNSTREAM_RETENTION_HOURS: '30' }, 'rollouts and tasks for 30 h, the rest forever'],
])('says what is kept with %j', (env, text) => {
  expect(keptText(loadConfig(env))).toBe(text);
});
