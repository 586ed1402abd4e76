// `turnstream up` in this process, so that coverage sees the supervisor; its children are real.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { readServices } from '../app/open/services-file.ts';
import { cleanEnv, command, program, runProgram, testHome, type CommandResult, type TestHome } from '../testing/up.ts';

const quick = { TURNSTREAM_GROUP_SIZE: '4', TURNSTREAM_BATCH_GROUPS: '2', TURNSTREAM_LOG_LEVEL: 'error' };

interface StatusLine {
  readonly event: string;
  readonly service?: string;
  readonly restarts?: number;
}

const linesOf = (out: string): readonly StatusLine[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as StatusLine);

describe('up', () => {
  let home: TestHome;
  /** Settles when `up` has ended; one that a failed test leaves behind would disturb the next test. */
  let ended: Promise<CommandResult> | undefined;
  afterEach(async () => {
    if (ended !== undefined) process.emit('SIGINT', 'SIGINT');
    await ended;
    await home.remove();
  });
  const upInside = (...args: readonly string[]): Promise<CommandResult> => {
    ended = command(home.env, 'up', ...args).finally(() => (ended = undefined));
    return ended;
  };

  it('runs to its end, restarts what dies on the way, and leaves nothing running', async () => {
    home = await testHome(quick);
    const inside = upInside('--steps', '3', '--run', 'inside', '--workers', '2', '--eval-every', '2');
    const pids = new Map<string, number>();
    await expect.poll(() => readServices(home.dataDir)?.processes, { timeout: 180_000 }).toHaveProperty('evaluator-before');
    for (const [name, pid] of Object.entries(readServices(home.dataDir)?.processes ?? {})) pids.set(name, pid);
    process.kill(pids.get('warehouse') ?? 0, 'SIGKILL');
    const { code, out, error } = await inside;
    expect(code, error).toBe(0);
    const lines = linesOf(out);
    expect(lines.filter(({ event, service }) => event === 'restarting' && service === 'warehouse').length).toBeGreaterThan(0);
    expect(lines.at(-1)).toMatchObject({ event: 'summary', run_id: 'inside', state: 'finished', steps: 3 });
    const versions = [0, 2, 3].map((version) => expect.objectContaining({ policy_version: version }) as object);
    expect(lines.at(-1), 'held-out scores before, between, and after').toMatchObject({ heldout: versions });
    expect([...pids.keys()].sort()).toEqual(expect.arrayContaining(['kafka', 'store', 'trainer', 'warehouse', 'worker-1', 'worker-2']));
    for (const pid of pids.values()) expect(() => process.kill(pid, 0)).toThrow();
    expect(readServices(home.dataDir)).toBeUndefined();
    expect((await command(home.env, 'audit')).code).toBe(0);
  });

  it('stops in order when nobody reads its output any more', async () => {
    home = await testHome({ ...quick, TURNSTREAM_LOG_LEVEL: 'info' });
    const child = spawn(process.execPath, [program, 'up', '--no-eval'], { env: cleanEnv(home.env), stdio: ['ignore', 'pipe', 'pipe'] });
    const exit = once(child, 'exit');
    child.stdout.resume();
    child.stderr.resume();
    await expect.poll(() => readServices(home.dataDir)?.processes, { timeout: 180_000 }).toHaveProperty('trainer');
    const pids = Object.values(readServices(home.dataDir)?.processes ?? {});
    child.stdout.destroy();
    child.stderr.destroy();
    await exit;
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
    expect(readServices(home.dataDir)).toBeUndefined();
  });

  it('stops at the first Ctrl-C with exit code 130 when --steps was given, and lists the run in its status', async () => {
    home = await testHome(quick);
    const halted = upInside('--run', 'halted', '--steps', '1000', '--no-eval');
    const trains = async (): Promise<boolean> => {
      const api = readServices(home.dataDir)?.apiUrl ?? '';
      if (api === '') return false;
      const answer = await fetch(`${api}/v1/runs/halted/steps`).catch(() => undefined);
      return answer?.ok === true && (await answer.text()).includes('"step"');
    };
    await expect.poll(trains, { timeout: 180_000, interval: 500 }).toBe(true);
    process.emit('SIGINT', 'SIGINT');
    const { code, out } = await halted;
    expect(code).toBe(130);
    expect(
      linesOf(out)
        .filter(({ event }) => event === 'stopped')
        .map(({ service }) => service),
    ).toEqual(expect.arrayContaining(['trainer', 'worker-1', 'warehouse', 'api', 'store', 'kafka']));
    const status = await command(home.env, 'status', '--json');
    expect(status.code).toBe(0);
    const { api, runs } = JSON.parse(status.out) as { api: null; runs: readonly { run_id: string; state: string; steps: number }[] };
    expect(api).toBeNull();
    expect(runs).toMatchObject([{ run_id: 'halted', state: 'unfinished' }]);
    expect(runs[0]!.steps).toBeGreaterThan(0);
  });

  it('reports what is wrong before it starts anything', async () => {
    home = await testHome({ TURNSTREAM_API_PORT: '1', TURNSTREAM_STORE_PORT: '70000', KAFKA_BROKERS: 'nowhere' });
    const { code, error } = await runProgram(home.env, 'up');
    expect(code).toBe(2);
    for (const name of ['TURNSTREAM_STORE_PORT', 'KAFKA_BROKERS']) expect(error).toContain(name);
    expect(error.trim().split('\n')).toHaveLength(3);
    const withoutJava = await runProgram(
      { ...home.env, TURNSTREAM_API_PORT: '0', TURNSTREAM_STORE_PORT: '0', KAFKA_BROKERS: '', PATH: '/nowhere' },
      'up',
    );
    expect(withoutJava.code).toBe(2);
    for (const way of ['install Java 17', 'KAFKA_BROKERS', 'infra/docker/compose.yml']) expect(withoutJava.error).toContain(way);
  });
});
