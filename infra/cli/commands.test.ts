import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeServices } from '../app/open/services-file.ts';
import { command } from '../testing/up.ts';
import { buildProgram } from './main.ts';
import { newRunId } from './up/run-up.ts';

const context = { env: {}, program: '', out: () => undefined, err: () => undefined, bytes: async () => undefined, exit: () => undefined };

/** Every command with its full name. */
function commandsOf(parent: Command, path: readonly string[] = []): { words: readonly string[]; made: Command }[] {
  return parent.commands.flatMap((made) => {
    const words = [...path, made.name()];
    return [{ words, made }, ...commandsOf(made, words)];
  });
}

const all = commandsOf(await buildProgram(context));
const leaves = all.filter(({ made }) => made.commands.length === 0);

describe('the command line', () => {
  let dataDir = '';
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'turnstream-cli-'));
  });
  afterAll(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });
  const run = (...args: readonly string[]) => command({ TURNSTREAM_DATA_DIR: dataDir, TURNSTREAM_API_PORT: '0' }, ...args);

  it('includes the commands that the README and the scripts use', () => {
    const names = all.map(({ words }) => words.join(' '));
    for (const name of [
      'up',
      'serve',
      'worker',
      'trainer',
      'warehouse',
      'api',
      'store',
      'topics apply',
      'topics list',
      'questions write',
      'questions import',
      'questions list',
    ]) {
      expect(names).toContain(name);
    }
    for (const name of ['ledger verify', 'ledger show', 'audit', 'sql', 'status', 'doctor', 'evaluate', 'config'])
      expect(names).toContain(name);
  });

  it.each(leaves.map(({ words }) => words.join(' ')))('explains %s with an example', async (words) => {
    const { code, out } = await run(...words.split(' '), '--help');
    expect(code).toBe(0);
    expect(out).toContain('Examples:');
    expect(out).toMatch(new RegExp(`\\$ .*turnstream ${words}`));
  });

  it.each(leaves.map(({ words }) => words.join(' ')))('shows examples with npx in the help of %s if npm started it', async (words) => {
    const { out } = await command({ TURNSTREAM_DATA_DIR: dataDir, npm_command: 'exec' }, ...words.split(' '), '--help');
    const examples = out.split('\n').filter((line) => line.startsWith('  $ '));
    expect(examples.filter((line) => /(?<!npx )\bturnstream [a-z]/.test(line))).toEqual([]);
  });

  it.each([
    'up --workers 0',
    'up --steps many',
    'up --run Not_A_Slug',
    'up unexpected',
    'serve unexpected',
    'serve --run a',
    'worker',
    'trainer --run a --seed -1',
    'evaluate --run a --policy best',
    'evaluate --run a --split test',
    'questions import x.jsonl --dataset Bad_Name',
    'questions import /does/not/exist.jsonl --dataset good',
    'ledger show',
    'sql -q x -f x.sql',
    'sql -q x --param a',
    'sql -q x --param a=[1,',
    'nonsense',
  ])('refuses `%s` with exit code 2', async (words) => {
    const { code, error } = await run(...words.split(' '));
    expect(code).toBe(2);
    expect(error).not.toBe('');
  });

  it.each(['--version', '-V'])('prints its version with %s', async (flag) => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await run(flag)).toMatchObject({ code: 0, out: `${version}\n` });
  });

  it('lists every invalid setting before it starts anything', async () => {
    const { code, error } = await command(
      { TURNSTREAM_DATA_DIR: join(dataDir, 'none'), TURNSTREAM_GROUP_SIZE: '1', TURNSTREAM_TYPO: '1' },
      'up',
    );
    expect(code).toBe(2);
    expect(error).toContain('TURNSTREAM_GROUP_SIZE');
    expect(error).toContain('TURNSTREAM_TYPO is not a setting');
  });

  it('prints the configuration in effect, with secrets hidden', async () => {
    const env = { TURNSTREAM_GROUP_SIZE: '16', TURNSTREAM_CLICKHOUSE_PASSWORD: 'hunter2', KAFKA_BROKERS: 'a:1,b:2' };
    const text = await command(env, 'config');
    expect(text.out).toContain('TURNSTREAM_GROUP_SIZE=16\n');
    expect(text.out).toContain('KAFKA_BROKERS=a:1,b:2\n');
    expect(text.out).toContain('TURNSTREAM_CLICKHOUSE_PASSWORD=(hidden)\n');
    expect(JSON.parse((await command(env, 'config', '--json')).out)).toMatchObject({ groupSize: 16, clickhousePassword: '(hidden)' });
  });

  it('lists the addresses that a role is missing', async () => {
    const { code, error } = await run('warehouse');
    expect(code).toBe(2);
    expect(error).toContain('KAFKA_BROKERS and CLICKHOUSE_URL are not set');
    const { error: one } = await run('worker', '--run', 'a');
    expect(one).toContain('KAFKA_BROKERS is not set');
  });

  it('says at once that nothing answers at a configured address', async () => {
    const kafka = await command({ TURNSTREAM_DATA_DIR: dataDir, KAFKA_BROKERS: '127.0.0.1:1' }, 'topics', 'list');
    expect(kafka).toMatchObject({ code: 2, error: expect.stringContaining('nothing answers there; check KAFKA_BROKERS') as string });
    const clickhouse = await command({ TURNSTREAM_DATA_DIR: dataDir, CLICKHOUSE_URL: 'http://127.0.0.1:1' }, 'sql', '-q', 'SELECT 1');
    expect(clickhouse).toMatchObject({ code: 2, error: expect.stringContaining('check CLICKHOUSE_URL') as string });
  });

  describe.each(['a file', 'below a file', '/proc'])('with a data directory that cannot be used (%s)', (kind) => {
    const place = (): string => {
      const file = join(dataDir, 'a-file');
      writeFileSync(file, '');
      return { 'a file': file, 'below a file': join(file, 'x'), '/proc': '/proc/turnstream' }[kind] ?? '';
    };

    it.each(['up', 'serve', 'load --turns 1', 'ledger verify', 'audit', 'questions list', 'topics list', 'warehouse rebuild'])(
      '`%s` says so before it starts anything',
      async (words) => {
        const path = place();
        const env = { TURNSTREAM_DATA_DIR: path, TURNSTREAM_API_PORT: '0', TURNSTREAM_LOG_LEVEL: 'silent' };
        const { code, error } = await command(env, ...words.split(' '));
        expect(code).toBe(2);
        expect(error).toContain(`using the data directory ${path}: `);
        expect(error.trim().split('\n')).toHaveLength(1);
      },
    );

    it('the store ends with exit code 2', async () => {
      expect(await command({ TURNSTREAM_DATA_DIR: place(), TURNSTREAM_LOG_LEVEL: 'silent' }, 'store')).toMatchObject({ code: 2 });
    });

    it('the doctor reports it', async () => {
      const path = place();
      const { code, out } = await command({ TURNSTREAM_DATA_DIR: path, TURNSTREAM_API_PORT: '0' }, 'doctor');
      expect(code).toBe(2);
      expect(out).toContain(`FAILED  data directory   using the data directory ${path}: `);
    });
  });

  it('has a status that shows which services do not answer', async () => {
    const nobody = { KAFKA_BROKERS: '127.0.0.1:1,127.0.0.1:2', CLICKHOUSE_URL: 'http://me:secret@127.0.0.1:1' };
    const env = { TURNSTREAM_DATA_DIR: dataDir, ...nobody };
    const { code, out } = await command(env, 'status');
    expect(code).toBe(2);
    expect(out.match(/no answer/g)).toHaveLength(2);
    expect(out).toContain('the list of runs is not available: ClickHouse does not answer at its address');
    expect(out).not.toContain('secret');
    expect(JSON.parse((await command(env, 'status', '--json')).out)).toMatchObject({
      ...{ kafka: '127.0.0.1:1,127.0.0.1:2', api: null, unanswered: ['kafka', 'clickhouse'], runs: [] },
      runs_unknown: 'ClickHouse does not answer at its address',
    });
  });

  it('has a status during the start, without processes that have ended', async () => {
    const folder = join(dataDir, 'starting');
    const nothingYet = { kafkaBrokers: [], clickhouseUrl: '', apiUrl: '', registryUrl: '' };
    const processes = { store: process.pid, 'evaluator-before': 2 ** 22 + 1 };
    writeServices(folder, { ...nothingYet, run: '', startedAt: '', processes });
    const { code, out } = await command({ TURNSTREAM_DATA_DIR: folder }, 'status', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ run: null, processes: { store: process.pid }, runs_unknown: 'ClickHouse is being started' });
    expect(out).not.toContain('evaluator-before');
  });

  it('has an empty status if nothing was ever started, and starts nothing for it', async () => {
    const { code, out } = await run('status');
    expect(code).toBe(0);
    expect(out).toContain('not running');
    expect(out).toContain('no runs yet');
    expect(JSON.parse((await run('status', '--json')).out)).toEqual({
      ...{ kafka: null, registry: null, clickhouse: null, api: null, api_port_taken: null, unanswered: [], run: null },
      ...{
        processes: {},
        runs: [],
        runs_unknown: null,
        disk: expect.anything() as unknown,
        kept: expect.stringContaining('finished runs') as unknown,
      },
    });
  });

  it('examines the machine without changing it', async () => {
    const { out } = await run('doctor');
    for (const name of ['Node', 'configuration', 'data directory', 'Java', 'Maven', 'API port', 'tensor backend'])
      expect(out).toContain(name);
    const bad = await command({ TURNSTREAM_TYPO: '1' }, 'doctor', '--json');
    expect(bad.code).toBe(2);
    expect(bad.out).toContain('TURNSTREAM_TYPO');
    const remote = await command(
      {
        TURNSTREAM_DATA_DIR: dataDir,
        KAFKA_BROKERS: '127.0.0.1:1',
        CLICKHOUSE_URL: 'http://127.0.0.1:1',
        SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
        ...{ TURNSTREAM_TRAINER: 'external', TURNSTREAM_LEASE_MS: '7200000', TURNSTREAM_RETENTION_HOURS: '1' },
      },
      'doctor',
    );
    expect(remote.code).toBe(2);
    for (const name of ['KAFKA_BROKERS', 'CLICKHOUSE_URL', 'SCHEMA_REGISTRY_URL']) expect(remote.out).toContain(`check ${name}`);
    expect(remote.out).toMatch(/warning log .*raise TURNSTREAM_RETENTION_HOURS/);
  });

  it('names runs so that they sort by time', () => {
    expect(newRunId(new Date('2026-11-21T09:30:05.123Z'))).toBe('run-20261121-093005');
  });

  it('reads a query from a file', async () => {
    const file = join(dataDir, 'q.sql');
    writeFileSync(file, 'SELECT 1');
    const { error } = await command({ TURNSTREAM_DATA_DIR: dataDir, CLICKHOUSE_URL: 'http://127.0.0.1:1' }, 'sql', '-f', file);
    expect(error).toContain('CLICKHOUSE_URL');
  });
});
