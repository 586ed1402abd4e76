// One tool of a run, searches by regular expression, and admissions in spans, over real tables.
import { expect, it } from 'vitest';
import { storyRun } from '../../infra/testing/api-story.ts';
import type { JsonObject } from '../../infra/testing/json.ts';
import { get, itemsOf, run, server, store } from './api.testing.ts';

it('the latencies of a tool count the same calls as the list of its calls', async () => {
  for (const tool of ['access', 'search']) {
    const rows = await itemsOf(`${run}/tool-calls?tool=${tool}&limit=1000`);
    const one = await get(`${run}/tools/${tool}`);
    const latencies = one['latencies'] as { calls: number; failed: number; from_ms: number; to_ms: number }[];
    const slowest = one['slowest'] as { ms: number }[];
    expect(one['calls']).toBe(rows.length);
    expect(one['failed']).toBe(rows.filter((row) => row['status'] !== 'ok').length);
    expect(latencies.reduce((sum, span) => sum + span.calls, 0)).toBe(rows.length);
    expect(latencies.reduce((sum, span) => sum + span.failed, 0)).toBe(one['failed']);
    const times = rows.map((row) => Number(row['ms'])).sort((a, b) => b - a);
    expect(slowest.map(({ ms }) => ms)).toEqual(times.slice(0, 20));
    for (const ms of times) expect(latencies.some((span) => ms >= span.from_ms && ms < span.to_ms)).toBe(true);
  }
  expect((await server.app.inject(`${run}/tools/nothing`)).statusCode).toBe(404);
});

it('a search takes a text, an RE2 expression, or both, and refuses an invalid expression', async () => {
  const id = `${storyRun}-g1-0.0`;
  const texts = (await itemsOf(`/v1/trajectories/${id}/turns?fields=text`)).map((row) => String(row['text']));
  const word = /\w{3,}/.exec(texts.join(' '))?.[0] ?? '';
  const find = async (query: string) => (await get(`/v1/trajectories/${id}/find?${query}`))['items'] as JsonObject[];
  const byText = await find(`q=${word}`);
  const byRegex = await find(`regex=${encodeURIComponent(`(?i)${word.slice(0, 2)}.*${word.slice(-1)}`)}`);
  expect(byText.length).toBeGreaterThan(0);
  for (const one of byText) expect(String(one['match']).toLowerCase()).toBe(word.toLowerCase());
  expect(byRegex.map((one) => one['turn'])).toEqual(expect.arrayContaining(byText.map((one) => one['turn'])));
  const all = await get(`${run}/find?regex=${encodeURIComponent(`(${word})`)}&limit=50`);
  for (const one of all['items'] as JsonObject[]) expect(one['match']).toBe(word);
  for (const base of [`/v1/trajectories/${id}/find`, `${run}/find`]) {
    const wrong = await server.app.inject(`${base}?regex=%28`);
    expect([wrong.statusCode, wrong.json<JsonObject>()['code']]).toEqual([400, 'REQUEST_INVALID']);
    expect((await server.app.inject(base)).statusCode).toBe(400);
    const both = async (query: string) => (await get(`${base}?${query}`))['items'] as JsonObject[];
    const narrowed = await both(`q=${word}&regex=${encodeURIComponent(`(?i)${word.slice(0, 2)}`)}`);
    expect(narrowed.length).toBeGreaterThan(0);
    for (const one of narrowed) expect(String(one['match']).toLowerCase()).toBe(word.slice(0, 2).toLowerCase());
    expect(await both(`q=${word}&regex=never%20in%20it`)).toEqual([]);
  }
});

it('the first turns of an outline are those of the whole', async () => {
  const url = `/v1/trajectories/${storyRun}-g1-0.1/outline`;
  const outlineOf = async (query: string) => {
    const { tools, columns, turns, is_whole } = (await get(`${url}${query}`)) as unknown as {
      tools: string[];
      columns: Record<string, number[]>;
      turns: number;
      is_whole: boolean;
    };
    const { tool = [], turn = [], at_ms: at = [], completion_tokens: tokens = [] } = columns;
    return { turns, is_whole, rows: turn.map((one, index) => [one, tools[tool[index] ?? -1], at[index], tokens[index]]) };
  };
  const whole = await outlineOf('');
  expect(whole.rows.length).toBeGreaterThan(1);
  for (let limit = 1; limit <= whole.rows.length + 1; limit += 1) {
    const rows = whole.rows.slice(0, limit);
    expect(await outlineOf(`?limit=${limit}`)).toEqual({ turns: rows.length, rows, is_whole: limit > whole.rows.length });
  }
});

it('spans of admissions count each admission once, and keep the minimum and the maximum', async () => {
  const at = '2026-11-20 08:00:00.000000';
  const rows = Array.from({ length: 100 }, (_, index) => ({
    ...{ run_id: storyRun, sequence: 1_000 + index * 3, version: index, capacity: index === 41 ? -7 : 5, running: index === 77 ? 99 : 4 },
    ...{ accepted: index, max_concurrent: 8, max_staleness: 2, groups: 1, at },
    ...{ _topic: 'turnstream.training', _partition: 50, _offset: index, _timestamp: at },
  }));
  await store.insert('admissions', rows, 'admissions-in-spans');
  await store.insert(
    'admissions',
    rows.map((row) => ({ ...row, _offset: row._offset + 500 })),
    'admissions-twice',
  );
  const spans = await itemsOf(`${run}/admissions?points=10`);
  const sum = (name: string): number => spans.reduce((total, row) => total + Number(row[name]), 0);
  expect([spans.length, sum('admissions')]).toEqual([10, 100]);
  expect(Math.min(...spans.map((row) => Number(row['capacity_min'])))).toBe(-7);
  expect(Math.max(...spans.map((row) => Number(row['running_max'])))).toBe(99);
  expect([spans[0]?.['sequence'], spans[0]?.['version']]).toEqual([1_297, 99]);
  await store.command('alter table admissions delete where _partition = 50 settings mutations_sync = 2');
});
