// Exports a short run from the real engine with the command `turnstream export`, and reads the files back with pyarrow if it is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore, type ClickHouseStore } from '../../clickhouse/client.ts';
import { python } from '../../e2e/clients.ts';
import { storeLog } from '../../testing/api-story.ts';
import { outgoing, randomEvent, seeded } from '../../testing/events.ts';
import { MemoryLog } from '../../testing/memory-log.ts';
import { finished, started, turn } from '../../testing/rollout-events.ts';
import { migratedDatabase, startMigratedStore } from '../../testing/migrated-store.ts';
import type { TestStore } from '../../testing/store.ts';
import { command } from '../../testing/up.ts';

const RUN = 'run-a';
const GROUPS = 5;

/** Search calls in both forms: two as tags, one as a function call that the server returned. */
const SEARCHES = ['<search>x</search>', '<search>x</search>', 'So.<tool_calls>[{"id":"c","function":{"name":"search"}}]</tool_calls>'];

/** Groups of three trajectories. Sample 2 of the last group lacks its last turn; all other last turns and every end are recorded twice. */
function rollouts() {
  return Array.from({ length: GROUPS }, (_, group) =>
    [0, 1, 2].flatMap((sample) => {
      const place = { trajectory: `${RUN}-g${group}.${sample}` };
      const end = outgoing(
        'TrajectoryFinished',
        finished({ ...place, sequence: 3 }, sample / 2, { turns: 2, question: `Question ${group}?` }),
      );
      const last = outgoing(
        'TurnRecorded',
        turn({ ...place, sequence: 2 }, 1, { turn: 1, text: '<answer>x</answer>', tool: 'answer', result: '' }),
      );
      return [
        outgoing('TrajectoryStarted', started({ ...place, sequence: 0 })),
        outgoing(
          'TurnRecorded',
          turn({ ...place, sequence: 1 }, 0, { turn: 0, text: SEARCHES[sample] ?? '', tool: 'search', result: 'found "it"\n' }),
        ),
        ...(group === GROUPS - 1 && sample === 2 ? [] : [last, last]),
        end,
        end,
      ];
    }),
  ).flat();
}

/** The words of a command line, split as a shell does. */
const wordsOf = (line: string): string[] => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

describe('turnstream export', { timeout: 300_000 }, () => {
  let engine: TestStore;
  let store: ClickHouseStore;
  let folder = '';
  let env: Record<string, string> = {};
  beforeAll(async () => {
    engine = await startMigratedStore();
    folder = mkdtempSync(join(tmpdir(), 'turnstream-export-'));
    env = { CLICKHOUSE_URL: engine.url, TURNSTREAM_DATA_DIR: folder };
    store = connectStore({ url: engine.url, database: migratedDatabase });
    const log = new MemoryLog();
    await log.writer().append(rollouts());
    await storeLog(log, store);
  });
  afterAll(async () => {
    await store.close();
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (...args: readonly string[]) => command(env, 'export', '--run', RUN, ...args);
  const rowsOf = async <T>(...args: readonly string[]): Promise<readonly T[]> => {
    const { code, out, error } = await run('--format', 'jsonl', ...args);
    expect(code, error).toBe(0);
    return out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as T);
  };

  it('writes each trajectory and each turn once, in order', async () => {
    const trajectories = await rowsOf<{ trajectory_id: string }>('--what', 'trajectories');
    const ids = trajectories.map(({ trajectory_id: id }) => id);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(GROUPS * 3);
    const turns = await rowsOf<{ trajectory_id: string; turn: number }>('--what', 'turns');
    expect(turns).toHaveLength(GROUPS * 6 - 1);
    expect(await rowsOf('--what', 'turns')).toEqual(turns);
    expect(
      await rowsOf(
        '--what',
        'turns',
        '--where',
        "tool = 'answer' and trajectory_id in (select trajectory_id from trajectories where reward = 1)",
      ),
    ).toHaveLength(GROUPS - 1);
  });

  it('writes chats of complete trajectories with a reward above 0', async () => {
    const chats = await rowsOf<{ messages: unknown; reward: number; trajectory_id: string }>('--what', 'sft');
    expect(chats.map(({ reward }) => reward).sort()).toEqual([...Array<number>(GROUPS).fill(0.5), ...Array<number>(GROUPS - 1).fill(1)]);
    expect(chats[0]).toMatchObject({
      ...{ run_id: RUN, trajectory_id: `${RUN}-g0.1`, group_id: `${RUN}-g0`, truncated: false },
      messages: [
        { role: 'user', content: 'Question 0?' },
        { role: 'assistant', content: '<search>x</search>' },
        { role: 'tool', content: 'found "it"\n' },
        { role: 'assistant', content: '<answer>x</answer>' },
      ],
    });
    expect(await rowsOf('--what', 'sft', '--min-reward', '0.5')).toHaveLength(GROUPS - 1);
    expect((await run('--what', 'sft', '--format', 'jsonl')).error).toContain('1 trajectories left out');
  });

  it('writes tool calls with ids, in the form that chat templates expect', async () => {
    const [chat, other] = await rowsOf<{ messages: readonly Record<string, unknown>[] }>('--what', 'sft', '--chat', 'tools');
    expect(other?.messages[1]).toMatchObject({ content: 'So.', tool_calls: [{ function: { name: 'search' } }] });
    const [user, asking, told, answering] = chat?.messages ?? [];
    expect(user).toMatchObject({ role: 'user', content: 'Question 0?', tool_calls: [] });
    expect(asking).toMatchObject({ role: 'assistant', content: '', tool_calls: [{ type: 'function', function: { name: 'search' } }] });
    const [{ id, function: called }] = asking?.['tool_calls'] as [{ id: string; function: { arguments: string } }];
    expect(id).not.toBe('');
    expect(JSON.parse(called.arguments)).toBeTypeOf('object');
    expect(told).toEqual({ role: 'tool', content: 'found "it"\n', tool_calls: [], tool_call_id: id, name: 'search' });
    expect(answering).toMatchObject({ role: 'assistant', content: '<answer>x</answer>', tool_calls: [] });
    expect(await rowsOf('--what', 'preferences', '--chat', 'tools', '--limit', '2')).toHaveLength(2);
  });

  it.each(['trajectories', 'turns', 'sft', 'preferences'])('writes the first rows of %s when there is a limit', async (what) => {
    const all = await rowsOf('--what', what);
    for (const limit of [1, all.length - 1, all.length, all.length + 1]) {
      expect(await rowsOf('--what', what, '--limit', String(limit))).toEqual(all.slice(0, limit));
    }
    const out = join(folder, `limit-${what}.parquet`);
    expect((await run('--what', what, '--limit', '2', '--out', out)).error).toContain(`2 rows of ${what}`);
  });

  it('writes token-level rows of complete trajectories, with the advantage within the group', async () => {
    const rows = await rowsOf<{ row: number; branch: number; trajectory_id: string; reward: number; advantage: number; why_not: string }>(
      '--what',
      'rows',
    );
    expect(rows.map(({ row }) => row)).toEqual(rows.map((_, at) => at));
    // sample 2 of the last group lost a turn
    expect(new Set(rows.map(({ trajectory_id: id }) => id)).size).toBe(GROUPS * 3 - 1);
    expect(rows.every(({ why_not: why }) => why === 'no_token_ids')).toBe(true);
    // a turn that continues no other turn starts its own branch
    const group = rows.filter(({ trajectory_id: id, branch }) => id.startsWith(`${RUN}-g0.`) && branch === 0);
    expect(group.map(({ reward }) => reward)).toEqual([0, 0.5, 1]);
    const [worst = NaN, middle, best = NaN] = group.map(({ advantage }) => advantage);
    expect(middle).toBeCloseTo(0);
    expect(worst + best).toBeCloseTo(0);
    const rewarded = await rowsOf<{ advantage: number }>('--what', 'rows', '--where', 'reward = 1', '--limit', '2');
    expect(rewarded.map(({ advantage }) => advantage)).toEqual([best, best]);
    expect((await run('--what', 'rows', '--format', 'jsonl')).error).toContain('1 trajectories left out');
    expect(await run('--what', 'rows', '--format', 'parquet')).toMatchObject({ code: 2 });
    const out = join(folder, 'rows.arrow');
    expect((await run('--what', 'rows', '--out', out)).code).toBe(0);
    expect(readFileSync(out).subarray(-8)).toEqual(Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]));
  });

  it('writes the attempts, rewards, and advantages that a step trained on', async () => {
    const [run_id, group_id] = ['run-b', 'run-b-g0'];
    const attemptOf = (sample: number, attempt: number, status: string) => {
      const place = { trajectory: `${group_id}.${sample}`, attempt, run: run_id };
      return [
        outgoing('TurnRecorded', turn({ ...place, sequence: 1 }, 0)),
        outgoing('TrajectoryFinished', finished({ ...place, sequence: 2 }, sample, { status })),
      ];
    };
    const trained = (sample: number, attempt: number) => ({
      ...{ group_id, trajectory_id: `${group_id}.${sample}`, attempt, question_id: 'q', reward: sample + 0.5, advantage: sample - 0.25 },
      ...{ tokens: 10, turns: 1, version_first: 0, version_last: 0, staleness_total: 0, staleness_in_flight: 0, staleness_in_queue: 0 },
      ...{ staleness_worst: 0, staleness_best: 0, staleness_span: 1, staleness_token_mean: 0, staleness_token_p95: 0 },
      ...{ staleness_token_max: 0, unknown_tokens: 0, flight_ms: 1, queue_ms: 1 },
    });
    const step = randomEvent('StepCompleted', seeded(1), { run_id, step: 1, trajectories: [trained(0, 1), trained(1, 0)] });
    const log = new MemoryLog();
    await log.writer().append([...attemptOf(0, 0, 'cancelled'), ...attemptOf(0, 1, 'answered'), ...attemptOf(1, 0, 'answered')]);
    await log.writer().append([outgoing('StepCompleted', step)]);
    await storeLog(log, store, run_id);
    const exported = async (what: string, ...more: readonly string[]): Promise<readonly unknown[]> => {
      const { code, out, error } = await command(env, 'export', '--run', run_id, '--what', what, '--format', 'jsonl', ...more);
      expect(code, error).toBe(0);
      return out
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown);
    };
    expect(await exported('rows')).toMatchObject([
      { trajectory_id: 'run-b-g0.0', attempt: 1, reward: 0.5, advantage: -0.25 },
      { trajectory_id: 'run-b-g0.1', attempt: 0, reward: 1.5, advantage: 0.75 },
    ]);
    expect(await exported('sft', '--min-reward=-1')).toMatchObject([{ attempt: 1 }, { attempt: 0 }]);
  });

  it('pairs the best with the worst of a group', async () => {
    const pairs = await rowsOf<object>('--what', 'preferences');
    expect(pairs).toHaveLength(GROUPS - 1);
    expect(pairs[1]).toMatchObject({
      ...{ group_id: `${RUN}-g1`, chosen_trajectory_id: `${RUN}-g1.2`, rejected_trajectory_id: `${RUN}-g1.0` },
      ...{ chosen_reward: 1, rejected_reward: 0, group_size: 3, prompt: [{ role: 'user', content: 'Question 1?' }] },
      chosen: [{ role: 'assistant' }, { role: 'tool' }, { role: 'assistant' }],
    });
    expect(await rowsOf('--what', 'preferences', '--where', 'reward < 0.7')).toHaveLength(GROUPS);
  });

  it.each([
    ["file('/etc/passwd') != ''", 'SQL_'],
    ['1) union all select (1', 'SQL_'],
    ['1, 2', undefined],
    ['1) as a, (2', 'SQL_'],
    ['1) from turns where (1', 'SQL_'],
    ['1) settings max_threads = (1', 'SQL_'],
    ['run_id in (select name from system.users)', 'SQL_'],
    ['1) limit (1', 'SQL_'],
    ['1; drop table turns', 'SQL_'],
    ['1 --', undefined],
    ['no_such_column = 1', 'SQL_'],
    ['', 'SQL_'],
  ])('does not run %s', async (condition, code) => {
    const found = await run('--what', 'trajectories', '--format', 'jsonl', '--where', condition);
    expect([found.error, found.out].join('')).not.toContain('root:');
    if (code === undefined) expect(found.out.split('\n').length).toBeLessThanOrEqual(GROUPS * 3 + 1);
    else expect(found).toMatchObject({ code: 1, out: '', error: expect.stringContaining(code) as string });
  });

  it('applies a condition only to rows of the exported run', async () => {
    expect(await rowsOf('--what', 'trajectories', '--where', "reward > 2) or (run_id != 'x'")).toHaveLength(GROUPS * 3);
    expect((await command(env, 'export', '--run', 'none', '--what', 'turns')).error).toContain('the tables have no rows of it');
  });

  it('leaves a whole file or none', async () => {
    const out = join(folder, 'some.jsonl');
    expect(await run('--what', 'turns', '--format', 'jsonl', '--out', out)).toMatchObject({ code: 0, out: '' });
    const whole = readFileSync(out, 'utf8');
    expect((await run('--what', 'turns', '--where', 'no_such = 1', '--format', 'jsonl', '--out', out)).code).toBe(1);
    expect(readFileSync(out, 'utf8')).toBe(whole);
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
    expect(await run('--what', 'turns', '--out', join(folder, 'none', 'x.parquet'))).toMatchObject({ code: 2 });
  });

  it('writes Parquet that has columns even without rows', async () => {
    for (const what of ['trajectories', 'turns', 'sft', 'preferences']) {
      const out = join(folder, `${what}.parquet`);
      expect(await run('--what', what, '--out', out)).toMatchObject({ code: 0 });
      expect(readFileSync(out).subarray(0, 4).toString()).toBe('PAR1');
      const again = join(folder, `${what}-again.parquet`);
      expect(await run('--what', what, '--out', again)).toMatchObject({ code: 0 });
      expect(readFileSync(again).equals(readFileSync(out))).toBe(true);
    }
    const none = join(folder, 'none.parquet');
    expect((await run('--what', 'turns', '--where', '0', '--out', none)).error).toContain('0 rows of turns');
    expect(existsSync(none)).toBe(true);
  });

  it('does what its guide says', async () => {
    const lines = readFileSync(join('infra', 'docs', 'guides', 'export.md'), 'utf8').split('\n');
    const commands = lines.filter((line) => line.startsWith('npx turnstream ')).map((line) => wordsOf(line).slice(2));
    expect(commands.length).toBeGreaterThan(4);
    for (const words of commands) {
      const args = words.map((word, at) => (word === 'my-run' ? RUN : words[at - 1] === '--out' ? join(folder, `guide-${word}`) : word));
      expect(await command(env, ...args)).toMatchObject({ code: 0, error: expect.stringContaining(' rows of ') as string });
    }
  });

  const readable = python !== undefined && spawnSync(python, ['-c', 'import pyarrow.parquet']).status === 0;
  it.skipIf(!readable)('writes Parquet that pyarrow reads', () => {
    const script = [
      'import sys, pyarrow.parquet as p',
      'for what, rows in zip(["trajectories", "turns", "sft", "preferences", "none"], [15, 29, 9, 4, 0]):',
      '  table = p.read_table(f"{sys.argv[1]}/{what}.parquet")',
      '  assert table.num_rows == rows, (what, table.num_rows)',
      'chat = p.read_table(f"{sys.argv[1]}/sft.parquet").to_pylist()[0]["messages"]',
      'assert [m["role"] for m in chat] == ["user", "assistant", "tool", "assistant"], chat',
    ].join('\n');
    const read = spawnSync(python ?? '', ['-c', script, folder], { encoding: 'utf8' });
    expect(read.stderr).toBe('');
    expect(read.status).toBe(0);
  });
});
