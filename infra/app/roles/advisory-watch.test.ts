// The loop that sends advisories to a webhook, with a server on loopback and a fake clock.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdvisoryMessage, RunFindings } from '../../../consumers/api/watch/advisory-changes.ts';
import { recordingMetrics } from '../../testing/api.ts';
import { createTestClock } from '../../testing/clock.ts';
import { createRecordingLogger } from '../../testing/logger.ts';
import { createWebhook } from '../../web/webhook.ts';
import { watchAdvisories } from './advisory-watch.ts';

const taken: string[] = [];
const texts: string[] = [];
let status = 200;
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { event, run_id, title, text, url } = JSON.parse(Buffer.concat(chunks).toString()) as AdvisoryMessage & { readonly url: string };
    taken.push(`${event} ${run_id} ${title}`);
    texts.push(text, url);
    response.writeHead(status).end();
  });
});
let folder = '';
let host = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnstream-watch-'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  rmSync(folder, { recursive: true, force: true });
});

const finding = (title: string) => ({
  ...{ rule: 'a-rule', severity: 'alarm', title, detail: 'x', page: '/runs/a/curves', sql: 'SELECT 1', is_over: false },
});
const looked = (...titles: readonly string[]): readonly RunFindings[] => [{ run_id: 'a', items: titles.map(finding) }];

/** Watches until each of `looks` was read; an error stands for an outage of the store. */
async function watch(looks: readonly (readonly RunFindings[] | Error)[], name = 'told.json'): Promise<ReturnType<typeof told>> {
  taken.length = 0;
  const [clock, logger, metrics] = [createTestClock(), createRecordingLogger(), recordingMetrics()];
  const webhook = createWebhook({ url: `http://${host}/`, allowed: [host], retries: 0, timeoutMs: 5_000, random: () => 0 });
  const end = new AbortController();
  const left = [...looks];
  const look = async (): Promise<readonly RunFindings[]> => {
    const next = left.shift();
    if (next instanceof Error) throw next;
    return next ?? [];
  };
  const address = 'https://runs.example';
  const watching = watchAdvisories({ look, webhook, address, path: join(folder, name), clock, logger, metrics }, end.signal);
  for (let number = 0; number < looks.length; number += 1) {
    await expect.poll(() => clock.sleepers()).toBe(1);
    await clock.advance(15_000);
  }
  await expect.poll(() => clock.sleepers()).toBe(1);
  end.abort();
  await watching;
  await webhook.close();
  return told(logger.lines.filter(({ level }) => level === 'warn').length, metrics.counted);
}
const told = (warnings: number, counted: readonly { readonly labels: Readonly<Record<string, string>> }[]) => ({
  taken: [...taken],
  warnings,
  outcomes: counted.map(({ labels }) => labels['outcome']),
});

describe('the watch over advisories', () => {
  it('sends one message when an advisory begins and one when it ends, despite an outage of the store', async () => {
    const looks = [looked('one'), looked('one'), new Error('away'), looked('one'), looked('one'), looked(), looked(), looked()];
    expect(await watch(looks)).toEqual({ taken: ['began a one', 'ended a one'], warnings: 0, outcomes: ['delivered', 'delivered'] });
  });

  it('links to the page of the dashboard', async () => {
    texts.length = 0;
    await watch([looked('one'), looked('one')], 'linked.json');
    expect(texts).toEqual(['a: alarm: one. x https://runs.example/runs/a/curves', 'https://runs.example/runs/a/curves']);
  });

  it('repeats no message after a restart, and reports what ended meanwhile', async () => {
    expect((await watch([looked('one', 'two'), looked('one', 'two')], 'kept.json')).taken).toEqual(['began a one', 'began a two']);
    expect((await watch([looked('one'), looked('one'), looked('one')], 'kept.json')).taken).toEqual(['ended a two']);
  });

  it('continues when the webhook rejects a message, and logs a warning', async () => {
    status = 400;
    expect(await watch([looked('one'), looked('one'), looked('one')], 'refused.json')).toEqual({
      ...{ taken: ['began a one'], warnings: 1, outcomes: ['failed'] },
    });
    status = 200;
  });

  it('starts with an empty record if its file is damaged', async () => {
    writeFileSync(join(folder, 'damaged.json'), '[{"tru');
    expect((await watch([looked('one'), looked('one')], 'damaged.json')).taken).toEqual(['began a one']);
  });
});
