// Well-formed but unusual events that others may write: how they appear in the tables and in the API.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createCodec } from '../../schemas/codec.ts';
import type { OutgoingEvent } from '../../streams/core/ports.ts';
import { connectLog, connectWarehouse, type LogConnection } from '../app/open/connections.ts';
import type { ClickHouseStore } from '../clickhouse/client.ts';
import { silentLogger } from '../testing/logger.ts';
import { finished, started, turn } from '../testing/rollout-events.ts';
import { openRolesWorld, type RolesWorld } from '../testing/roles-world.ts';
import { command } from '../testing/up.ts';

const run = 'odd';
const LARGEST = 2 ** 31 - 1;
const HALF = '\ud800';

const eventsOf = (
  trajectory: string,
  turns: readonly Parameters<typeof turn>[2][],
  end: Parameters<typeof finished>[2],
): OutgoingEvent[] => {
  const key = trajectory.split('.')[0] ?? '';
  const at = (sequence: number) => ({ run, trajectory, sequence });
  return [
    { type: 'TrajectoryStarted', key, event: started(at(0)) },
    ...turns.map((fields, i): OutgoingEvent => ({ type: 'TurnRecorded', key, event: turn(at(i + 1), 0, fields) })),
    { type: 'TrajectoryFinished', key, event: finished(at(turns.length + 1), 0.5, { turns: turns.length, ...end }) },
  ];
};

describe('odd events', () => {
  let world: RolesWorld;
  let log: LogConnection;
  let store: ClickHouseStore;
  let api = '';
  const json = async (path: string, init: RequestInit = {}): Promise<Record<string, unknown>> => {
    const response = await fetch(api + path, init);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer());
    expect([path, response.status]).toEqual([path, 200]);
    expect(text).not.toMatch(/\\ud[89a-f]/i);
    return JSON.parse(text) as Record<string, unknown>;
  };

  beforeAll(async () => {
    world = await openRolesWorld({ TURNSTREAM_API_PORT: '0', TURNSTREAM_SINK_MAX_WAIT_MS: '50' });
    log = await connectLog({ config: world.config, clientId: 'test', logger: silentLogger });
    store = connectWarehouse(world.config);
    const writer = await log.kafka.writer();
    await writer.append([
      ...eventsOf('none.0', [], { answer: '', status: 'max_tokens', completion_tokens: 0, prompt_tokens: 0, tool_calls: 0 }),
      ...eventsOf('negative.0', [{ prompt_tokens: -5, completion_tokens: -7, policy_spans: [{ version: 0, tokens: -3 }] }], {
        completion_tokens: -7,
        prompt_tokens: -5,
      }),
      ...eventsOf('huge.0', [{ prompt_tokens: LARGEST, completion_tokens: LARGEST, policy_spans: [{ version: 0, tokens: LARGEST }] }], {
        completion_tokens: LARGEST * 1_000,
        prompt_tokens: LARGEST * 1_000,
      }),
      ...eventsOf('half.0', [{ text: `a${HALF}b`, result: HALF, arguments: `{"query":"${HALF}"}`, items: [{ url: HALF, title: HALF }] }], {
        question: `${HALF}?`,
        answer: HALF,
      }),
    ]);
    await log.kafka.appendRaw('rollouts', [invalidUtf8()]);
    await world.start({}, 'warehouse');
    const role = await world.start({}, 'api');
    const { figures } = await role.until(({ state }) => state === 'live');
    api = `http://127.0.0.1:${figures['port'] ?? 0}`;
    await vi.waitFor(
      async () => {
        expect(await store.query('SELECT trajectory_id FROM turns')).toHaveLength(3);
        expect(await store.query('SELECT trajectory_id FROM trajectories')).toHaveLength(3);
        expect(await store.query('SELECT reason FROM dead_letters')).toHaveLength(2);
      },
      { timeout: 60_000, interval: 200 },
    );
  });

  afterAll(async () => {
    await store.close();
    await log.close();
    await world.close();
  });

  it('are stored whole or are dead letters that say why, and the tables are what the log says', async () => {
    expect(
      await store.query('SELECT trajectory_id AS id, turns, prompt_tokens AS tokens FROM trajectories ORDER BY trajectory_id'),
    ).toEqual([
      { id: 'half.0', turns: 1, tokens: 100 },
      { id: 'huge.0', turns: 1, tokens: LARGEST * 1_000 },
      { id: 'none.0', turns: 0, tokens: 0 },
    ]);
    const letters = await store.query('SELECT reason, error FROM dead_letters ORDER BY _topic, original_offset');
    expect(letters.map(({ reason }) => reason)).toEqual(['undecodable', 'undecodable']);
    expect(letters.map(({ error }) => String(error)).join()).toMatch(
      /prompt_tokens is -5, and counts are not negative.*prompt_tokens is -5/,
    );
    const { code, out, error } = await command(world.env, 'audit');
    expect([code, error], out).toEqual([0, '']);
  });

  it('do not distort any sum', async () => {
    const [sums] = await store.query('SELECT min(prompt_tokens) AS prompt, min(completion_tokens) AS completion FROM turns');
    expect(sums).toEqual({ prompt: 100, completion: 10 });
  });

  it('come back as valid UTF-8 and JSON', async () => {
    for (const id of ['none.0', 'huge.0', 'half.0']) {
      expect(await json(`/v1/trajectories/${id}`)).toMatchObject({ trajectory_id: id });
      expect(await json(`/v1/trajectories/${id}/turns`)).toMatchObject({ items: id === 'none.0' ? [] : [{ turn: 0 }] });
    }
    expect(await json('/v1/trajectories/half.0')).toMatchObject({ question: expect.stringMatching(/^\ufffd+\?$/) as unknown });
    for (const path of ['staleness', 'tools', 'trajectories', 'discarded']) await json(`/v1/runs/${run}/${path}`).catch(() => undefined);
    const body = JSON.stringify({ query: 'SELECT trajectory_id, text FROM turns ORDER BY trajectory_id', format: 'JSON' });
    const sql = await json('/v1/sql', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const texts = (sql['data'] as { readonly text: string }[]).map(({ text }) => text);
    expect(texts[0]).toMatch(/^\ufffd{5}HOLDER$/);
    expect(texts[1]).toMatch(/^a\ufffd+b$/);
  });
});

/** A turn whose text is not valid UTF-8, as writers in languages with byte strings may send it. */
function invalidUtf8() {
  const codec = createCodec();
  const value = codec.encode('TurnRecorded', turn({ run, trajectory: 'bytes.0', sequence: 1 }, 0, { text: 'PLACEHOLDER' }));
  const at = value.indexOf('PLACEHOLDER');
  Buffer.from([0xff, 0xfe, 0xed, 0xa0, 0x80]).copy(value, at);
  return { key: Buffer.from('bytes'), value, headers: { 'run-id': Buffer.from(run), ce_type: Buffer.from('TurnRecorded') } };
}
