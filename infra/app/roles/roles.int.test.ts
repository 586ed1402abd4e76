// Every role in this process, on a real Kafka and the real engine: two steps of a small run, evaluated, stored, audited.
import { EventEmitter } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EvaluationCompleted } from '../../../schemas/generated/events.ts';
import { reachNothing } from '../../../streams/core/crash-points.ts';
import type { RoleStatus } from '../../../streams/core/telemetry.ts';
import type { Config } from '../../config/descriptors.ts';
import { loadConfig } from '../../config/load.ts';
import { blocksOf } from '../../e2e/blocks.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startStoreHere } from '../../testing/store.ts';
import { command, commandWith, type CommandResult } from '../../testing/up.ts';
import { apiRole } from './api.ts';
import { waitUntilDrained } from '../open/drain.ts';
import { freePort } from '../open/local-ports.ts';
import { evaluatorRole } from './evaluator/evaluator.ts';
import { prepareLog, prepareStore } from '../open/prepare.ts';
import type { RoleContext, RoleMain } from './role.ts';
import { runSummary } from '../../cli/status/run-summary.ts';
import { trainerRole } from './trainer/trainer.ts';
import { warehouseRole } from './warehouse.ts';
import { workerRole } from './worker/worker.ts';

const RUN = 'in-process';
const STEPS = 2;

interface StartedRole {
  readonly end: Promise<'finished' | 'stopped'>;
  status(): RoleStatus;
  until(fits: (status: RoleStatus) => boolean): Promise<RoleStatus>;
  stop(): Promise<'finished' | 'stopped'>;
}

/** Runs a role like role.ts, but in this process. */
function start(name: string, config: Config, main: RoleMain): StartedRole {
  const stopping = new AbortController();
  const waiting = new Set<() => void>();
  let current: RoleStatus = { state: 'starting', detail: '', figures: {} };
  const context: RoleContext = {
    ...{ config, name, logger: silentLogger, metrics: createMetrics(name) },
    report(status) {
      current = { ...status, figures: { ...current.figures, ...status.figures } };
      for (const look of waiting) look();
    },
    status: () => current,
    onSkipped: () => undefined,
    metricsOfOthers: () => [],
    services: () => [],
    supervised: false,
    reach: reachNothing,
  };
  const end = main(context, stopping.signal);
  end.catch(() => undefined);
  return {
    end,
    status: () => current,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!fits(current)) return;
          waiting.delete(look);
          resolve(current);
        };
        waiting.add(look);
        end.catch(reject);
        look();
      }),
    stop() {
      stopping.abort();
      return end;
    },
  };
}

describe('roles', () => {
  let config: Config;
  let env: Record<string, string>;
  let dataDir = '';
  const cleanups: (() => Promise<unknown>)[] = [];
  const started: StartedRole[] = [];
  const run = (name: string, main: RoleMain): StartedRole => {
    const role = start(name, config, main);
    started.push(role);
    return role;
  };

  beforeAll(async () => {
    const [kafka, store] = await Promise.all([useKafka(), startStoreHere()]);
    cleanups.push(() => store.stop());
    dataDir = mkdtempSync(join(tmpdir(), 'turnstream-roles-'));
    env = {
      KAFKA_BROKERS: kafka.brokers.join(','),
      CLICKHOUSE_URL: store.url,
      TURNSTREAM_CLICKHOUSE_PASSWORD: 'pass',
      TURNSTREAM_DATA_DIR: dataDir,
      TURNSTREAM_NAMESPACE: kafka.namespace,
      TURNSTREAM_API_PORT: '0',
      TURNSTREAM_GROUP_SIZE: '4',
      TURNSTREAM_BATCH_GROUPS: '2',
      TURNSTREAM_LOG_LEVEL: 'error',
    };
    config = loadConfig(env);
    await Promise.all([prepareLog(config, silentLogger), prepareStore(config)]);
  });
  afterAll(async () => {
    await Promise.allSettled(started.map((role) => role.stop()));
    for (const cleanup of cleanups) await cleanup();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('train, answer, store and serve one run together', async () => {
    const completed: EvaluationCompleted[] = [];
    const evaluation = (policy: number): RoleMain =>
      evaluatorRole({ run: RUN, policy, split: 'heldout', questions: 4, samples: 1, onCompleted: (event) => completed.push(event) });
    run('warehouse', warehouseRole);
    const api = run('api', apiRole);
    const trainer = run('trainer', trainerRole({ run: RUN, seed: 1, steps: STEPS }));
    const worker = run('worker-1', workerRole({ run: RUN }));
    await worker.until(({ state }) => state === 'live');
    expect(await run('evaluator', evaluation(0)).end).toBe('finished');
    expect(await trainer.end).toBe('finished');
    expect(await run('evaluator', evaluation(-1)).end).toBe('finished');
    expect(completed.map(({ policy_version: version, questions }) => [version, questions])).toEqual([
      [0, 4],
      [STEPS, 4],
    ]);
    expect(await run('evaluator', evaluation(0)).end).toBe('finished');
    expect(completed[2]).toEqual(completed[0]);

    await waitUntilDrained(config, silentLogger, new AbortController().signal);
    expect(await runSummary(config, RUN)).toMatchObject({
      ...{ run_id: RUN, state: 'finished', steps: STEPS, version: STEPS, seed: 1, trajectories: STEPS * 8 },
      evaluation: { before: { policy_version: 0, questions: 4 }, after: { policy_version: STEPS } },
    });
    const { figures } = await api.until(({ state }) => state === 'live');
    const url = `http://127.0.0.1:${figures['port'] ?? 0}`;
    expect(await (await fetch(`${url}/v1/runs/${RUN}`)).json()).toMatchObject({ run_id: RUN });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/registry/subjects`)).json()).toContain(
      `${config.namespace}.rollouts-turnstream.rollouts.TurnRecorded`,
    );
  });

  it('leave a run that the commands can show and verify', async () => {
    const verified = await command(env, 'ledger', 'verify', '--run', RUN);
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining(`ok     ${RUN}: `) as string });
    const shown = await command(env, 'ledger', 'show', '--run', RUN, '--from', '1', '--limit', '2');
    expect(
      shown.out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { sequence: number }).sequence),
    ).toEqual([1, 2]);
    expect((await command(env, 'topics', 'list')).out).toContain(`${config.namespace}.rollouts\t4\n`);
    expect((await command(env, 'topics', 'apply')).out).toContain('10 topics are up to date');
    expect((await command(env, 'status')).out).toMatch(new RegExp(`^${RUN} +finished +${STEPS} `, 'm'));
    expect(JSON.parse((await command(env, 'status', '--run', RUN, '--json')).out)).toMatchObject({ steps: STEPS });
    expect((await command(env, 'sql', '--format', 'TSV', '-q', 'SELECT count() FROM steps;')).out).toBe(`${STEPS}\n`);
    expect((await command(env, 'doctor')).out).toMatch(/ok +ClickHouse/);
  });

  it('answer the SQL of the guides', async () => {
    const folder = join(process.cwd(), 'infra', 'docs', 'guides');
    const statements = readdirSync(folder)
      .filter((guide) => guide !== 'twelve-questions.md')
      .flatMap((guide) => blocksOf(readFileSync(join(folder, guide), 'utf8'), 'sql'));
    expect(statements.length).toBeGreaterThanOrEqual(5);
    for (const sql of statements) {
      expect(await command(env, 'sql', '-q', sql.replaceAll("'mine-1'", `'${RUN}'`)), sql).toMatchObject({ code: 0, error: '' });
    }
    const difficulty = statements.find((sql) => sql.includes("'flips'")) ?? '';
    const told = await command(env, 'sql', '--format', 'TSV', '-q', difficulty.replaceAll("'mine-1'", `'${RUN}'`));
    expect(told.out).toMatch(/^(always|flips|never)\t\d+$/m);
  });

  it('reject unknown runs and question sets and a finished run, with the reason; commands exit with 2', async () => {
    for (const args of [['ledger', 'verify'], ['ledger', 'show'], ['status']]) {
      const { code, error } = await command(env, ...args, '--run', 'nobody');
      expect(code).toBe(2);
      expect(error).toContain('[NOT_FOUND]');
    }
    await expect(
      start(
        'evaluator',
        config,
        evaluatorRole({ run: 'nobody', policy: -1, split: 'heldout', questions: 1, samples: 1, onCompleted: () => undefined }),
      ).end,
    ).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(prepareLog({ ...config, dataset: 'unknown' }, silentLogger)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(start('trainer', config, trainerRole({ run: RUN, seed: 1, steps: STEPS })).end).rejects.toMatchObject({
      code: 'RUN_FINISHED',
    });
  });

  it('reject queries that write, and report the errors of ClickHouse', async () => {
    const write = await command(env, 'sql', '-q', 'DROP TABLE steps');
    expect(write).toMatchObject({ code: 1, out: '', error: expect.stringContaining('only SELECTs are run') as string });
    const wrong = await command(env, 'sql', '-q', 'SELECT nothing FROM nowhere');
    expect(wrong).toMatchObject({ code: 1, out: '', error: expect.stringContaining('[SQL_INVALID]') as string });
  });

  it('accept an imported question set, and report its invalid lines', async () => {
    const file = join(dataDir, 'mine.jsonl');
    writeFileSync(file, '{"question": "What is the capital of France?", "answer": "Paris"}\nnot json\n');
    const refused = await command(env, 'questions', 'import', file, '--dataset', 'mine');
    expect(refused).toMatchObject({ code: 2, error: expect.stringContaining('line 2') as string });
    const imported = await command(env, 'questions', 'import', file, '--dataset', 'mine', '--skip-bad-lines');
    expect(imported).toMatchObject({ code: 0, out: expect.stringContaining('1 question imported, 1 line skipped') as string });
    expect((await command(env, 'questions', 'list')).out).toContain('mine\ttrain\t1\n');
    const mine = { ...config, dataset: 'mine' };
    await prepareLog(mine, silentLogger);
    await expect(prepareLog(mine, silentLogger, { questions: true, heldout: true })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('--no-eval') as string,
    });
    await prepareLog(config, silentLogger, { questions: true, heldout: true });
    expect((await command(env, 'questions', 'write')).out).toBe('2000 questions\n');
    const asked = { run: RUN, policy: 0, dataset: 'mine', split: 'heldout', questions: 1, samples: 1 } as const;
    const none = start('evaluator', config, evaluatorRole({ ...asked, onCompleted: () => undefined }));
    await expect(none.end).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('--no-eval') as string });
  });

  it('are run by commands, which stop them at a signal', async () => {
    const stopped = async (on: Record<string, string>, ready: () => Promise<boolean>, ...args: string[]): Promise<CommandResult> => {
      const host = new EventEmitter();
      const end = commandWith({ env: on, host }, args);
      await expect.poll(ready).toBe(true);
      host.emit('SIGTERM', 'SIGTERM');
      return end;
    };
    const apiPort = String(await freePort());
    const answers = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${apiPort}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    expect(await stopped({ ...env, TURNSTREAM_API_PORT: apiPort }, answers, 'api')).toMatchObject({ code: 0, error: '' });
    // uses the questions that the run trains on, whatever is configured here
    const elsewhere = { ...env, TURNSTREAM_DATASET: 'elsewhere' };
    const evaluated = await command(elsewhere, 'evaluate', '--run', RUN, '--policy', '0', '--questions', '4');
    expect(JSON.parse(evaluated.out)).toMatchObject({ policy_version: 0, questions: 4, dataset: 'factbook' });
    expect(await command(env, 'trainer', '--run', RUN, '--dataset', 'factbook')).toMatchObject({ code: 2 });
  });

  it('continue a finished run, which stays one run in every view', async () => {
    const more = STEPS + 1;
    expect(await run('trainer-again', trainerRole({ run: RUN, seed: 1, steps: more })).end).toBe('finished');
    const verified = await command(env, 'ledger', 'verify', '--run', RUN);
    expect(verified).toMatchObject({ code: 0, out: expect.stringMatching(/, finished, continued once$/m) as string });
    expect(await command(env, 'replay', '--run', RUN, '--all', '--train')).toMatchObject({ code: 0 });
    await waitUntilDrained(config, silentLogger, new AbortController().signal);
    const audit = await command(env, 'audit');
    expect(audit, audit.error).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ok: \d+ records compared, 0 dead letters$/m) as string,
    });
    expect(await runSummary(config, RUN)).toMatchObject({ state: 'finished', steps: more, version: more });
    const events = await command(
      env,
      'sql',
      '--format',
      'TSV',
      '-q',
      `SELECT event, steps FROM run_events WHERE run_id = '${RUN}' ORDER BY sequence`,
    );
    expect(events.out).toBe(`started\t${STEPS}\nfinished\t${STEPS}\ncontinued\t${more}\nfinished\t${more}\n`);
  });

  it('stop when they are asked to', async () => {
    for (const role of started) await role.stop();
    expect(started.map((role) => role.status().state).filter((state) => state === 'failed')).toEqual([]);
  });
});
