// A record with an unknown schema, through a real broker, sink, and store: it is listed, shown, retried, and stored once.
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCodec } from '../../../schemas/codec.ts';
import { bodyOf, frame } from '../../../schemas/framing.ts';
import { contentId, latestSchema, subjectOf } from '../../../schemas/subjects.ts';
import { loadConfig } from '../../config/load.ts';
import { randomEvent, seeded } from '../../testing/events.ts';
import { useKafka } from '../../testing/kafka.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startStoreHere } from '../../testing/store.ts';
import { command, commandWith, type CommandResult } from '../../testing/up.ts';
import { connectLog, connectWarehouse, type LogConnection } from '../../app/open/connections.ts';
import { waitUntilDrained } from '../../app/open/drain.ts';
import { prepareLog, prepareStore } from '../../app/open/prepare.ts';

describe('dead letters', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  const dataDir = mkdtempSync(join(tmpdir(), 'turnstream-letters-'));
  let env: Record<string, string>;
  let log: LogConnection;
  let store: ReturnType<typeof connectWarehouse>;

  const codec = createCodec();
  const published = latestSchema('TurnRecorded');
  // the same record with another doc: an unknown schema whose bytes readers can decode
  const later = JSON.stringify({ ...(JSON.parse(published.schema) as object), doc: 'a later one' });
  const event = randomEvent('TurnRecorded', seeded(7), { run_id: 'run-a', group_id: 'g1' });
  const value = frame(contentId(later), bodyOf(codec.encode('TurnRecorded', event)));
  const headers = { 'run-id': 'run-a', traceparent: '00-11-22-01' };

  beforeAll(async () => {
    const [kafka, running] = await Promise.all([useKafka(), startStoreHere()]);
    cleanups.push(() => running.stop());
    env = {
      KAFKA_BROKERS: kafka.brokers.join(','),
      CLICKHOUSE_URL: running.url,
      TURNSTREAM_CLICKHOUSE_PASSWORD: 'pass',
      TURNSTREAM_DATA_DIR: dataDir,
      TURNSTREAM_NAMESPACE: kafka.namespace,
      TURNSTREAM_SINK_MAX_WAIT_MS: '50',
      TURNSTREAM_LOG_LEVEL: 'error',
    };
    const config = loadConfig(env);
    await Promise.all([prepareLog(config, silentLogger), prepareStore(config)]);
    log = await connectLog({ config, clientId: 'test', logger: silentLogger });
    store = connectWarehouse(config);
    const host = new EventEmitter();
    const warehouse = commandWith({ env, host }, ['warehouse']);
    cleanups.push(async () => {
      host.emit('SIGTERM');
      await warehouse;
      await Promise.all([store.close(), log.close()]);
    });
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const run = (...args: readonly string[]): Promise<CommandResult> => command(env, 'dead-letters', ...args);
  const stored = async (): Promise<void> => {
    expect(await waitUntilDrained(loadConfig(env), silentLogger, AbortSignal.timeout(30_000))).toBe(true);
  };
  const count = async (sql: string): Promise<number> => Number((await store.query<{ n: number }>(`select count() as n from ${sql}`))[0]?.n);

  it('are listed, shown with their content, retried after the cause is fixed, and stored once', async () => {
    const [place] = await log.kafka.appendRaw('rollouts', [{ key: 'g1', value, headers }]);
    const id = `rollouts/${place?.partition ?? -1}/${place?.offset ?? -1}`;
    await stored();
    await stored();

    const list = JSON.parse((await run('list', '--json')).out) as { letters: unknown[]; groups: unknown[] };
    expect(list.letters).toMatchObject([{ id, reason: 'unknown_schema', run: 'run-a' }]);
    expect(list.groups).toEqual([{ topic: 'rollouts', reason: 'unknown_schema', letters: 1, retried: 0 }]);
    expect((await run('list', '--topic', 'tasks')).out).toBe('no dead letters\n');
    expect((await run('show', id)).out).toContain('still cannot be decoded: unknown_schema');
    expect((await run('retry', id)).out).toContain('it still cannot be read');

    await log.registry.register(subjectOf(loadConfig(env).namespace, published), later);
    const shown = JSON.parse((await run('show', id, '--json')).out) as { decoded: { type: string; event: { event_id: string } } };
    expect(shown.decoded).toMatchObject({ type: 'TurnRecorded', event: { event_id: event.event_id } });
    expect(await run('retry', '--all', '--dry-run')).toMatchObject({ code: 0, out: `would be retried   ${id}\n1 would be retried\n` });
    expect((await run('list', '--open')).out).toContain(id);

    expect(await run('retry', id)).toMatchObject({ code: 0, out: `retried            ${id}\n1 retried\n` });
    expect((await Promise.all([run('retry', '--all'), run('retry', id)])).map(({ code }) => code).sort()).toContain(0);
    await stored();
    await stored();
    expect(await count(`turns where event_id = '${event.event_id}'`)).toBe(1);
    expect(await count(`dead_letter_events`)).toBe(1);
    expect(await count(`dead_letter_retries where letter_id = '${id}'`)).toBe(1);
    expect((await run('list', '--open')).out).toBe('no dead letters\n');

    const audit = await command(env, 'audit', '--json');
    expect(audit, audit.out).toMatchObject({ code: 0 });
  });

  it('that fail again refer to the original letter', async () => {
    const [place] = await log.kafka.appendRaw('rollouts', [{ key: 'g2', value: Buffer.from([0, 1, 2]), headers: {} }]);
    const id = `rollouts/${place?.partition ?? -1}/${place?.offset ?? -1}`;
    await stored();
    await stored();
    expect((await run('retry', id, '--force')).out).toContain('1 retried');
    await stored();
    await stored();
    const { letters } = JSON.parse((await run('list', '--reason', 'not_framed', '--json')).out) as { letters: { retryOf: string }[] };
    expect(letters.map(({ retryOf }) => retryOf)).toEqual(['', id]);
    expect((await run('retry', '--all', '--reason', 'not_framed')).out).toContain('failed again; name it or use --force');
    expect((await run('show', id, '--raw')).out).toBe(Buffer.from([0, 1, 2]).toString());
    expect(await count(`dead_letter_events where reason = 'not_framed'`)).toBe(2);
  });

  it('are selected by id or by filter', async () => {
    expect(await run('retry')).toMatchObject({ code: 2, error: expect.stringContaining('--all') as unknown });
    expect(await run('retry', 'rollouts/0/1', '--all')).toMatchObject({ code: 2 });
    expect(await run('retry', 'rollouts/0/1', '--reason', 'x')).toMatchObject({ code: 2 });
    expect(await run('retry', 'rollouts/0/99999')).toMatchObject({ code: 2, error: expect.stringContaining('NOT_FOUND') as unknown });
    expect(await run('list', '--since', 'yesterday')).toMatchObject({ code: 2 });
    expect((await run('list', '--since', '0s')).out).toBe('no dead letters\n');
  });
});
