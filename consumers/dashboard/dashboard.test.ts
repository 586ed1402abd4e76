import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testApi } from '../../infra/testing/api.ts';
import { createFakeStore } from '../../infra/testing/fake-store.ts';
import type { EventType } from '../../schemas/generated/events.ts';
import { turnFieldKinds } from '../../schemas/rollouts/turn.ts';
import { latestSchema, topicOf } from '../../schemas/subjects.ts';
import { toolStatuses, trajectoryFates, trajectoryStatuses, purposes } from '../api/values.ts';
import { firstRequests } from './app/data/addresses.ts';
import { liveTypes, summaryOf } from './app/data/live-shapes.ts';
import { filters } from './app/pages/filters.ts';
import { turnsUrl } from './app/pages/turn-columns.ts';
import { documentPolicy, pagePaths } from './dashboard.route.ts';
import { readSite } from './site.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstream-site-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>turnstream</title>');
  await writeFile(join(folder, 'assets', 'main-1.js'), 'export {};');
});
afterEach(() => rm(folder, { recursive: true }));

const served = async () => {
  const site = await readSite(folder);
  if (site === undefined) throw new Error('there is no site');
  return testApi({ store: createFakeStore(), site, keys: ['reader-key-0123456789:read'] });
};

it('serves the document at the address of every page, with any query and without a key', async () => {
  const server = await served();
  for (const path of pagePaths) {
    const answer = await server.app.inject(`${path.replace('*', 'a/t/b')}?turn=3&find=x`);
    expect([answer.statusCode, answer.headers['content-security-policy'], answer.headers['cache-control']]).toEqual([
      200,
      documentPolicy,
      'no-cache',
    ]);
  }
  expect(documentPolicy).toContain("require-trusted-types-for 'script'");
  expect(documentPolicy).not.toContain('unsafe');
  await server.close();
});

it('preloads the first responses and the scripts of a page, each once and without those of the document', async () => {
  const manifest = {
    'index.html': { file: 'assets/main-1.js', imports: ['_kit.js'] },
    '_kit.js': { file: 'assets/kit-1.js' },
    '_charts.js': { file: 'assets/charts-1.js', imports: ['_kit.js', 'index.html'] },
    'pages/overview.tsx': { file: 'assets/overview-1.js', imports: ['_charts.js', '_kit.js', 'index.html'] },
    'pages/runs.tsx': { file: 'assets/runs-1.js', imports: ['index.html'] },
  };
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const server = await served();
  const linkAt = async (path: string) => (await server.app.inject(path)).headers['link'];
  const overview = '</assets/overview-1.js>; rel=modulepreload, </assets/charts-1.js>; rel=modulepreload';
  const answersAt = (path: string) =>
    firstRequests(new URL(path, 'http://localhost')).map((url) => `<${url}>; rel=preload; as=fetch; crossorigin`);
  const scripts = { '/?status=running': '</assets/runs-1.js>; rel=modulepreload', '/runs/a?x=time': overview, '/runs/b%20c': overview };
  for (const [path, files] of Object.entries(scripts)) {
    expect(answersAt(path).length).toBeGreaterThan(0);
    expect(await linkAt(path)).toBe([...answersAt(path), files].join(', '));
  }
  expect([await linkAt('/runs/a/no/such/page'), await linkAt('/sql'), await linkAt(`/?status=${'x'.repeat(9_000)}`)]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  await server.close();
});

it('may be opened from a link on another site, unlike data', async () => {
  const server = await served();
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect((await server.app.inject({ url: '/', headers: link })).statusCode).toBe(200);
  expect((await server.app.inject({ url: '/v1/runs', headers: link })).statusCode).toBe(403);
  expect((await server.app.inject({ url: '/', headers: { ...link, 'sec-fetch-dest': 'iframe' } })).statusCode).toBe(403);
  await server.close();
});

it('compresses its files, marks them as immutable, and serves no others', async () => {
  const server = await served();
  for (const coding of ['br', 'gzip', undefined]) {
    const answer = await server.app.inject({
      url: '/assets/main-1.js',
      headers: coding === undefined ? {} : { 'accept-encoding': coding },
    });
    expect([answer.statusCode, answer.headers['content-encoding']]).toEqual([200, coding]);
    expect(answer.headers['cache-control']).toContain('immutable');
  }
  for (const name of ['main-2.js', '..%2findex.html']) expect((await server.app.inject(`/assets/${name}`)).statusCode).toBe(404);
  await server.close();
});

it('is absent if it was not built', async () => {
  expect(await readSite(join(folder, 'nowhere'))).toBeUndefined();
});

it('offers the filter values that the API accepts', () => {
  const kindOf = (name: string): unknown => filters.find((filter) => filter.name === name)?.kind;
  expect(['status', 'tool_status', 'purpose', 'fate'].map(kindOf)).toEqual([trajectoryStatuses, toolStatuses, purposes, trajectoryFates]);
});

it('follows only types of events that exist', () => {
  expect(Object.keys(topicOf)).toEqual(expect.arrayContaining([...liveTypes]));
});

it('shows only fields that the events of a type have', () => {
  for (const type of liveTypes as readonly EventType[]) {
    const shown: string[] = [];
    const event = new Proxy<Record<string, unknown>>({}, { get: (_, name) => void shown.push(String(name)) });
    summaryOf({ type, event, id: '', timestamp_ms: 0, topic: '', partition: 0, offset: 0 });
    const { fields } = JSON.parse(latestSchema(type).schema) as { readonly fields: readonly { readonly name: string }[] };
    const names = new Set(fields.map(({ name }) => name));
    expect([type, shown.length > 0, shown.filter((name) => !names.has(name))]).toEqual([type, true, []]);
  }
});

it('shows ids and names of the data with marks for their hidden characters', async () => {
  const app = join(import.meta.dirname, 'app');
  const ids = ['id', 'run_id', 'worker_id', 'evaluation_id', 'question_id', 'group_id', 'trajectory_id'];
  const others = ['run', 'other', 'worker', 'dataset', 'question', 'tool', 'algorithm', 'subject'];
  const names = `(?:\\w+\\.)*(?:${[...ids, ...others].join('|')})`;
  const inText = new RegExp(`(?<!<Text>|<Text title>|[=$\\w])\\{${names}\\}`, 'g');
  const inLabel = new RegExp(`aria-label=\\{\`[^\`]*\\$\\{${names}\\}`, 'g');
  const pages = (await readdir(app, { recursive: true })).filter((path) => path.endsWith('.tsx'));
  const found = await Promise.all(
    pages.map(async (path) => {
      const source = await readFile(join(app, path), 'utf8');
      return [inText, inLabel].flatMap((bare) => [...source.matchAll(bare)].map(([text]) => `${path}: ${text}`));
    }),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(found.flat()).toEqual([]);
});

it('requests every field of a turn for its raw view', () => {
  const url = new URL(turnsUrl({ run: 'a', id: 'a-g1.0', attempt: 0, first: 3, last: 3 }, 'raw'), 'http://localhost');
  expect(url.searchParams.get('fields')?.split(',').sort()).toEqual(Object.keys(turnFieldKinds).sort());
});
