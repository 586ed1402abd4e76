// The whole path from a user's point of view: one command, real processes, a real Kafka, the real engine. Each process is killed in turn;
// afterwards nothing may be missing.
import { spawn, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { connectLog } from '../app/open/connections.ts';
import { withServices } from '../app/open/services.ts';
import { withStore } from '../app/open/with-store.ts';
import { hasChromium } from '../testing/journeys.ts';
import { startLocalKafka, type LocalKafka } from '../kafka/broker/local.ts';
import { silentLogger } from '../testing/logger.ts';
import { skipAfterFailure } from '../testing/story.ts';
import { atMostEvery, cleanEnv, command, program, runProgram, startUp, testHome, type TestHome, type UpProcess } from '../testing/up.ts';
import { copyChanged } from './changed-copy.ts';
import { firstLines, has, python } from './clients.ts';
import { guideQuestions, paramsOf, routeOf, type GuideValues } from './guides.ts';
import { visitLiveRun } from './live-journey.ts';
import { curls, queries, subscriber } from './readme.ts';

const RUN = 'first-light';
const settings = {
  TURNSTREAM_GROUP_SIZE: '4',
  TURNSTREAM_BATCH_GROUPS: '2',
  TURNSTREAM_HEARTBEAT_MS: '500',
  TURNSTREAM_SILENCE_MS: '3000',
  ...atMostEvery(3_000),
};

describe('first light', () => {
  let home: TestHome;
  let up: UpProcess;
  let kafka: LocalKafka | undefined;
  let steps = 0;
  skipAfterFailure();
  beforeAll(async () => {
    home = await testHome(settings);
    up = startUp(home, ['--run', RUN, '--seed', '1']);
  });
  afterAll(async () => {
    await kafka?.stop();
    await home.remove();
  });

  const stepsShown = (): number => up.lines.filter(({ event }) => event === 'progress').length;
  const nextSteps = (count: number) => {
    const wanted = stepsShown() + count;
    return up.until(() => stepsShown() >= wanted);
  };
  const clientEnv = () => cleanEnv(home.env);
  /** For commands after `up` has ended: without a running Kafka, each starts its own and stops it again, as in serve.int.test.ts. */
  const withKafka = () => ({ ...home.env, KAFKA_BROKERS: kafka?.brokers.join(',') ?? '' });

  it('has the first step in SQL and over REST while it goes on', async () => {
    await up.until(({ event }) => event === 'progress');
    const { apiUrl } = up.services();
    await expect
      .poll(async () => (await command(home.env, 'sql', '--format', 'TSV', '-q', 'SELECT count() > 0 FROM steps')).out)
      .toBe('1\n');
    const answer = await fetch(`${apiUrl}/v1/runs/${RUN}/steps`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('reward_mean');
    await expect.poll(async () => (await fetch(`${apiUrl}/readyz`)).status).toBe(200);
  });

  it('reports all addresses', async () => {
    const { code, out } = await command(home.env, 'status', '--json');
    const { kafkaBrokers, clickhouseUrl, apiUrl } = up.services();
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      kafka: kafkaBrokers.join(','),
      clickhouse: clickhouseUrl,
      api: apiUrl,
      registry: `${apiUrl}/registry`,
      run: RUN,
      runs: [{ run_id: RUN, state: 'running' }],
    });
  });

  it.skipIf(!hasChromium)('is followed by the dashboard while it goes on', async () => {
    expect(await visitLiveRun(up.services().apiUrl, RUN)).toEqual([]);
  });

  it('serves the metrics of every role', async () => {
    const { apiUrl } = up.services();
    await expect
      .poll(async () => (await fetch(`${apiUrl}/metrics`)).text())
      .toMatch(/turnstream_trainer_steps_total\{role="trainer",run="[^"]+"\} \d/);
    const text = await (await fetch(`${apiUrl}/metrics`)).text();
    for (const role of ['worker-1', 'warehouse', 'api']) expect(text).toContain(`role="${role}"`);
  });

  it('gives one staleness by REST, by SQL, in the metrics and in the terminal', async () => {
    const { apiUrl } = up.services();
    const metricOf = (text: string, name: string, label = ''): number =>
      Number(new RegExp(`^turnstream_trainer_${name}\\{[^}]*${label}[^}]*\\} (.+)$`, 'm').exec(text)?.[1]);
    const names = ['mean', 'p95', 'max', 'in_flight_mean', 'in_queue_mean', 'token_mean', 'token_p95', 'token_max'] as const;
    /** The metrics, and the step that they belong to, found by three of its values; undefined while it is not in the tables. */
    const look = async (): Promise<{ readonly metrics: number[]; readonly step: Record<string, number> } | undefined> => {
      const text = await (await fetch(`${apiUrl}/metrics`)).text();
      const answer = await fetch(`${apiUrl}/v1/runs/${RUN}/steps?order=desc&limit=20`);
      const { items } = (await answer.json()) as { items: Record<string, number>[] };
      const metrics = names.map((name) => metricOf(text, 'staleness', `statistic="${name}"`));
      const known = { step: metricOf(text, 'steps_total'), reward_mean: metricOf(text, 'reward_mean'), staleness_mean: metrics[0] };
      const step = items.find((one) => Object.entries(known).every(([name, value]) => one[name] === value));
      return step === undefined ? undefined : { metrics, step };
    };
    let found: Awaited<ReturnType<typeof look>>;
    await expect.poll(async () => (found = await look()) !== undefined).toBe(true);
    const row = found?.step ?? {};
    expect(found?.metrics).toEqual(names.map((name) => row[`staleness_${name}`]));
    const { step = 0, staleness_mean: mean = Number.NaN } = row;
    const asked = [
      `SELECT avg(staleness_total) FROM step_trajectories WHERE step = ${step}`,
      `SELECT staleness_mean FROM curves WHERE step = ${step}`,
    ];
    for (const query of [...asked, `SELECT staleness_mean FROM staleness_by_step WHERE step = ${step}`]) {
      const { out } = await command(home.env, 'sql', '--format', 'TSV', '-q', query);
      expect(Number(out), query).toBeCloseTo(mean, 9);
    }
    expect(Number(row['staleness_in_flight_mean']) + Number(row['staleness_in_queue_mean'])).toBeCloseTo(mean, 9);
    await expect.poll(() => up.lines.some((line) => line['step'] === step && line['staleness_mean'] === mean)).toBe(true);
  });

  it('refuses a second up in the same data directory, and leaves the first alone', async () => {
    const second = await runProgram(home.env, 'up', '--run', 'other');
    expect(second.code).toBe(2);
    expect(second.error).toContain(`process ${up.pid} (up of ${RUN}) uses it already`);
    expect(up.services().run).toBe(RUN);
  });

  it('answers the queries of the README', async () => {
    expect(queries.length).toBeGreaterThanOrEqual(5);
    for (const query of queries) expect(await command(home.env, 'sql', '-q', query)).toMatchObject({ code: 0, error: '' });
  });

  it.runIf(has('curl'))('answers the curl calls of the README', async () => {
    expect(curls).toHaveLength(3);
    for (const line of curls) {
      const call = line.replace('http://127.0.0.1:8787', up.services().apiUrl).replace('curl ', 'exec curl --fail-with-body ');
      const curl = spawn('sh', ['-c', call], { stdio: ['ignore', 'pipe', 'inherit'] });
      let said = '';
      curl.stdout.on('data', (part: Buffer) => (said += part.toString()));
      // one of them is a stream, which does not end
      await expect.poll(() => said.length, { message: call }).toBeGreaterThan(10);
      curl.kill();
      expect(said).not.toContain('"code"');
    }
  });

  it('answers the twelve questions of the guide, by SQL and over REST', async () => {
    const { apiUrl } = up.services();
    const ask = async (query: string, params: object = {}): Promise<Record<string, unknown>[]> => {
      const body = JSON.stringify({ query, params });
      const answer = await fetch(`${apiUrl}/v1/sql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      const text = await answer.text();
      expect(answer.status, `${query}\n${text}`).toBe(200);
      return (JSON.parse(text) as { data: Record<string, unknown>[] }).data;
    };
    await expect.poll(() => ask('SELECT step FROM steps WHERE step = 1')).toHaveLength(1);
    const [one] = await ask("SELECT trajectory_id, question_id FROM trajectories WHERE purpose = 'train' LIMIT 1");
    const values: GuideValues = {
      ...{ run: RUN, other: RUN, step: 1 },
      ...{ trajectory: String(one?.['trajectory_id']), question: String(one?.['question_id']) },
    };
    expect(guideQuestions).toHaveLength(12);
    for (const { title, sql, routes } of guideQuestions) {
      expect((await ask(sql, paramsOf(sql, values))).length, title).toBeGreaterThan(0);
      expect(routes.length, title).toBeGreaterThan(0);
      for (const route of routes) {
        const answer = await fetch(`${apiUrl}${routeOf(route, values)}`);
        expect({ route, status: answer.status, body: answer.status === 200 ? '' : await answer.text() }).toEqual({
          route,
          status: 200,
          body: '',
        });
      }
    }
    const turnsOfStep = () => ask(guideQuestions[0]?.sql ?? '', { run: RUN, step: 1 });
    const trained = await ask('SELECT sum(turns) AS turns, count() AS trajectories FROM step_trajectories WHERE step = 1');
    await expect.poll(turnsOfStep).toHaveLength(Number(trained[0]?.['turns']));
    const rows = await turnsOfStep();
    expect(new Set(rows.map((row) => row['trajectory_id'])).size).toBe(Number(trained[0]?.['trajectories']));
  });

  it.runIf(python !== undefined)("lets the guide's subscriber in Python read every topic through the registry", async () => {
    // npx would build this clone again while tests use it
    const direct = [process.execPath, program].map((path) => JSON.stringify(path)).join(', ');
    const code = subscriber.replace('"npx", "turnstream"', () => direct);
    expect(code).not.toBe(subscriber);
    const run = (text: string, enough: (lines: readonly string[]) => boolean) =>
      firstLines([python ?? '', '-c', text], { enough, env: clientEnv(), timeoutMs: 90_000 });
    const lines = await run(code, ({ length }) => length >= 50);
    expect(lines.some((line) => line.includes('search'))).toBe(true);
    const topics = ['questions', 'tasks', 'training', 'policies', 'evaluations'].map((topic) => `turnstream.${topic}`);
    const others = code
      .replace('["turnstream.rollouts"]', JSON.stringify(topics))
      .replace('"me"', '"me-too"')
      .replace('print(', 'print(record.topic(), ');
    const fewest = (all: readonly string[]) =>
      Math.min(...topics.map((topic) => all.filter((line) => line.startsWith(`${topic} `)).length));
    expect(fewest(await run(others, (all) => fewest(all) >= 2))).toBeGreaterThanOrEqual(2);
  });

  it.runIf(has('kcat'))('has CloudEvents headers that kcat shows', () => {
    const args = ['-b', up.services().kafkaBrokers.join(','), '-C', '-t', 'turnstream.rollouts', '-c', '5', '-e', '-f', '%h\n'];
    const { stdout } = spawnSync('kcat', args, { encoding: 'utf8' });
    for (const header of [
      'ce_id=',
      'ce_type=',
      'ce_source=',
      'ce_time=',
      'ce_specversion=1.0',
      'content-type=application/avro',
      `run-id=${RUN}`,
    ]) {
      expect(stdout).toContain(header);
    }
  });

  it.each(['trainer', 'worker-1', 'warehouse', 'store', 'kafka', 'api'])('continues by itself when the %s is killed', async (service) => {
    const before = up.lines.length;
    const pid = up.services().processes[service] ?? 0;
    process.kill(pid, 'SIGKILL');
    const since = (event: string) =>
      up.until((line) => up.lines.indexOf(line) >= before && line.event === event && line.service === service);
    await since('exited');
    await since('started');
    await nextSteps(1);
  });

  it('passes an audit while it goes on', async () => {
    const audit = await command(home.env, 'audit', '--json');
    expect(audit, audit.error).toMatchObject({ code: 0 });
  });

  it('stops in order on SIGINT, and continues from there with a last step', async () => {
    up.signal('SIGINT');
    expect(await up.exit, up.stderr().slice(-2_000)).toBe(0);
    expect(up.lines.at(-1)).toMatchObject({ event: 'stopped', run: RUN });
    const done = Math.max(...up.lines.map(({ step }) => step ?? 0));
    steps = done + 4;
    up = startUp(home, ['--run', RUN, '--steps', String(steps)]);
    expect((await up.until(({ event }) => event === 'progress')).step).toBeGreaterThanOrEqual(done);
  });

  it('ends by itself, with the scores before and after', async () => {
    expect(await up.exit, up.stderr().slice(-2_000)).toBe(0);
    const summary = up.lines.find(({ event }) => event === 'summary');
    expect(summary).toMatchObject({ run_id: RUN, state: 'finished', steps, version: steps });
    expect(summary).toHaveProperty('evaluation.before.policy_version', 0);
    expect(summary).toHaveProperty('evaluation.after.policy_version', steps);
    expect((await command(home.env, 'status', '--run', RUN)).out).toContain(`run ${RUN}: finished, ${steps} steps`);
  });

  it('has lost and duplicated nothing', async () => {
    kafka = await startLocalKafka({ dataDir: home.dataDir, logger: silentLogger });
    const audit = await command(withKafka(), 'audit', '--json');
    expect(audit, audit.error).toMatchObject({ code: 0 });
    expect(JSON.parse(audit.out)).toMatchObject({ ok: true, deadLetters: 0, differences: [] });
    const verified = await command(withKafka(), 'ledger', 'verify', '--json');
    expect(verified, verified.error).toMatchObject({ code: 0 });
    expect(JSON.parse(verified.out)).toMatchObject({ run: RUN, ok: true, steps, finished: true, problems: [] });
  });

  it('replays every step and repeats its update from the log alone, though the trainer was killed on the way', async () => {
    const replayed = await command(withKafka(), 'replay', '--run', RUN, '--all', '--train', '--json');
    expect(replayed, replayed.error + replayed.out.slice(0, 3_000)).toMatchObject({ code: 0 });
    const lines = replayed.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toHaveLength(steps + 1);
    expect(lines[0]).toMatchObject({ step: 1, ok: true, groups: 2, from: 'resume', differences: [], update: { largestDifference: 0 } });
    expect(lines.at(-1)).toEqual({ run: RUN, steps, differing: 0, ok: true });
    const same = await command(withKafka(), 'ledger', 'diff', RUN, RUN);
    expect(same, same.error).toMatchObject({ code: 0 });
    expect(same.out).toContain(`${steps} in both, all equal`);
  });

  it('finds a reward that was changed in a copy of the log, in the step that it was trained in', async () => {
    const victim = await copyChanged(loadConfig(withKafka()), RUN);
    const copy = { ...withKafka(), TURNSTREAM_NAMESPACE: 'changed' };
    const replayed = await command(copy, 'replay', '--run', RUN, '--all');
    expect(replayed.code, replayed.error).toBe(1);
    expect(replayed.error).toContain(`1 of ${steps} steps differ from the ledger [REPLAY_DIFFERS]`);
    expect(replayed.out).toContain(`${victim.trajectory} reward: the ledger has ${victim.reward}, the replay ${victim.reward + 0.125}`);
    expect((await command(copy, 'ledger', 'verify')).code).toBe(0);
  });

  it('refuses to go on with a run that has finished', async () => {
    const again = await runProgram(home.env, 'up', '--run', RUN, '--no-eval');
    expect(again.code).toBe(2);
    expect(again.error).toContain('[RUN_FINISHED]');
  });

  it('notices a row that was removed, and a ledger entry that was changed', async () => {
    const config = loadConfig(withKafka());
    await withStore({ config, logger: silentLogger, purpose: 'test' }, async (store) => {
      const [row] = await store.query<{ p: number; o: number }>('SELECT _partition AS p, toUInt32(_offset) AS o FROM turns LIMIT 1');
      const where = `_partition = ${row?.p ?? -1} AND _offset = ${row?.o ?? -1}`;
      await store.command(`ALTER TABLE turns DELETE WHERE ${where}`, { settings: { mutations_sync: 2 } });
    });
    const audit = await command(withKafka(), 'audit');
    expect(audit.code).toBe(1);
    expect(audit.out).toMatch(/DIFFER rollouts\/\d+ +turns/);
    expect(audit.out).toMatch(/missing in turns: rollouts\/\d+@\d+/);
    expect(audit.out).toContain('FAILED');

    await withServices({ config, needs: { kafka: true, store: false }, logger: silentLogger, purpose: 'test' }, async (found) => {
      const log = await connectLog({ config: found, clientId: 'test', logger: silentLogger });
      try {
        await log.kafka.reader().readToEnd('training', {
          onBatch: async ({ records }) => {
            const last = records.at(-1);
            if (last !== undefined) await log.kafka.appendRaw('training', [{ key: RUN, value: last.value, headers: last.headers }]);
          },
        });
      } finally {
        await log.close();
      }
    });
    const verified = await command(withKafka(), 'ledger', 'verify');
    expect(verified.code).toBe(1);
    expect(verified.out).toContain(`BROKEN ${RUN}`);
    expect(await command(withKafka(), 'replay', '--run', RUN, '--all')).toMatchObject({
      code: 1,
      error: expect.stringContaining('[LEDGER_BROKEN]') as string,
    });
  });

  it('is the program that the tests say it is', async () => {
    expect((await runProgram({}, '--help')).out).toContain('Exit codes');
    expect(program).toMatch(/turnstream\.mjs$/);
  });
});
