// Synthesized questions on a real log and in a real store, with the actual commands.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectStore } from '../../clickhouse/client.ts';
import { loadConfig } from '../../config/load.ts';
import { blocksOf } from '../../e2e/blocks.ts';
import { storeLog } from '../../testing/api-story.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { migratedDatabase, startMigratedStore } from '../../testing/migrated-store.ts';
import { command } from '../../testing/up.ts';
import { connectLog } from '../../app/open/connections.ts';

interface ReviewedRow {
  readonly question_id: string;
  readonly [column: string]: unknown;
}

it('makes, reviews and lists questions; every candidate and verdict is a row', { timeout: 300_000 }, async () => {
  const [kafka, engine] = await Promise.all([useKafka(), startMigratedStore()]);
  onTestFinished(() => engine.stop());
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-review-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  const env = {
    KAFKA_BROKERS: kafka.brokers.join(','),
    TURNSTREAM_NAMESPACE: kafka.namespace,
    TURNSTREAM_DATA_DIR: dir,
    TURNSTREAM_LOG_LEVEL: 'silent',
  };
  const questions = (...args: readonly string[]) => command(env, 'questions', ...args);
  const review = (...args: readonly string[]) => questions('review', '--dataset', 'grown', '--reviewer', 'ada', ...args);

  const few = '--count 8 --variants 1 --inject-rounds 3 --fuzz-rounds 1 --direct-samples 4 --max-direct-share 1'.split(' ');
  const output = join(dir, 'grown.jsonl');
  const made = await questions('synthesize', ...few, '--dataset', 'grown', '--review-share', '1', '--output', output, '--json');
  expect(made).toMatchObject({ code: 0, error: '' });
  const report = JSON.parse(made.out) as Record<'accepted' | 'rejected' | 'sampledForReview', number> & {
    readonly gates: readonly { readonly gate: string; readonly passed: number; readonly refused: number }[];
  };
  const { accepted, rejected, sampledForReview } = report;
  expect(accepted).toBeGreaterThanOrEqual(2);
  expect(sampledForReview).toBe(accepted);
  const ids = readFileSync(output, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { id: string }).id);
  expect(ids).toHaveLength(accepted);
  const [first = '', second = ''] = ids;

  const listed = await review('--list');
  for (const id of ids) expect(listed.out).toContain(`${id}\n`);
  expect(listed.out).toMatch(new RegExp(`^${accepted} of ${accepted} wait for review$`, 'm'));
  for (const [said, message] of [
    [['--accept'], /NOT_FOUND/],
    [['--accept', '--reject'], /give one of/],
    [[], /give one of/],
  ] as const) {
    expect(await review('--question', 'nothing', ...said)).toMatchObject({ code: 2, error: expect.stringMatching(message) as string });
  }
  expect(await review('--question', first, '--comment', 'reads oddly')).toEqual({ code: 0, out: 'recorded\n', error: '' });
  expect(await review('--question', first, '--reject', '--comment', 'no river')).toMatchObject({ code: 0 });
  expect(await review('--question', second, '--accept')).toMatchObject({ code: 0 });
  const left = await review('--list');
  expect(left.out).toMatch(new RegExp(`^${accepted - 2} of ${accepted} wait for review$`, 'm'));
  expect(left.out).not.toContain(`${first}\n`);
  // a verdict takes effect on every set that is read from now on, and the last one counts
  const listedNow = async () =>
    (await questions('list')).out
      .split('\n')
      .map((line) => line.split('\t'))
      .filter(([dataset]) => dataset === 'grown')
      .reduce((sum, [, , count]) => sum + Number(count), 0);
  expect(await listedNow()).toBe(accepted - 1);
  expect(await review('--question', second, '--reject')).toMatchObject({ code: 0 });
  expect(await listedNow()).toBe(accepted - 2);
  expect(await review('--question', second, '--accept')).toMatchObject({ code: 0 });
  expect(await listedNow()).toBe(accepted - 1);

  const log = new MemoryLog();
  const connection = await connectLog({ config: loadConfig(env), clientId: 'test', logger: silentLogger });
  onTestFinished(() => connection.close());
  await connection.kafka.reader().readToEnd('questions', {
    onBatch: async ({ records }) => {
      log.appendRaw(
        'questions',
        records.map(({ key, value, headers }) => ({ key, value, headers })),
      );
    },
  });
  const store = connectStore({ url: engine.url, database: migratedDatabase });
  onTestFinished(() => store.close());
  await storeLog(log, store);
  const rows = await store.query<ReviewedRow>('SELECT * FROM questions ORDER BY _partition, _offset');
  expect(rows).toHaveLength(accepted + rejected + 5);
  expect(rows.filter(({ producer }) => producer === 'questions review')).toMatchObject([
    { question_id: first, accepted: true, reason: '' },
    { question_id: first, accepted: false, reason: 'human_review' },
    { question_id: second, accepted: true, reason: '' },
    { question_id: second, accepted: false, reason: 'human_review' },
    { question_id: second, accepted: true, reason: '' },
  ]);
  const sets = await store.query<ReviewedRow>(`SELECT * FROM question_sets WHERE dataset = 'grown'`);
  expect(sets).toHaveLength(accepted);
  expect(sets.filter((row) => row['in_set'] === false).map(({ question_id: id }) => id)).toEqual([first]);
  const verdicts = new Map(sets.map(({ question_id: id, verdict }) => [id, verdict]));
  expect([verdicts.get(first), verdicts.get(second)]).toEqual(['reject', 'accept']);
  const said = await store.query<ReviewedRow>(
    `SELECT review, detail FROM question_reviews WHERE question_id = '${first}' ORDER BY _offset`,
  );
  expect(said.map((row) => [row['review'], row['detail']])).toEqual([
    ['comment', 'commented by ada: reads oddly'],
    ['reject', 'rejected by ada: no river'],
  ]);
  expect(new Set(rows.map(({ event_id }) => event_id)).size).toBe(rows.length);
  const refused = rows.filter((row) => row['accepted'] === false && row['producer'] !== 'questions review');
  expect(refused).toHaveLength(rejected);
  for (const { reason, gates, gates_passed: passed, history } of refused) {
    expect((gates as string[]).filter((_, at) => (passed as boolean[])[at] === false)).toEqual([reason]);
    expect((JSON.parse(String(history)) as { action: string }[])[0]).toMatchObject({ action: 'seed' });
  }

  const sqlOf = (guide: string): readonly string[] =>
    blocksOf(readFileSync(join('infra', 'docs', 'guides', `${guide}.md`), 'utf8').replaceAll("'mine'", "'grown'"), 'sql');
  expect(await store.query<ReviewedRow>(sqlOf('evaluate-a-checkpoint')[0]!)).toEqual([]);
  // the same counts for every gate as in the report, however often a question was reviewed or written
  const [gates = '', setsNow = ''] = sqlOf('grow-questions');
  const told = await store.query<{ gate: string; let_through: unknown; refused: unknown }>(gates);
  const counted = new Map(told.map(({ gate, let_through: passed, refused }) => [gate, [Number(passed), Number(refused)]]));
  expect(counted).toEqual(new Map(report.gates.map(({ gate, passed, refused }) => [gate, [passed, refused]])));
  const [train] = await store.query<ReviewedRow>(setsNow);
  expect(train).toMatchObject({ split: expect.stringMatching(/train|heldout/) as string });
});
