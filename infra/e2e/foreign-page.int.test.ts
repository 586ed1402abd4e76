// No request of a web page of another origin reaches data or a statement on any port of `up`, of a role, or of `turnstream retrieval`:
// tested with a real Chromium, in every way that a page can send one.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withKnownAddresses } from '../app/open/addresses.ts';
import { connectWarehouse } from '../app/open/connections.ts';
import { loadConfig } from '../config/load.ts';
import type { RoleStatus } from '../../streams/core/telemetry.ts';
import { startHealthServer, type HealthServer } from '../http/health-server.ts';
import { atMostEvery, startUp, testHome, type TestHome, type UpProcess } from '../testing/up.ts';
import { startRetrievalServer, type RetrievalServer } from '../web/retrieval-server.ts';
import {
  chromium,
  FOREIGN_NAME,
  listeningPorts,
  startForeignSite,
  startOpenPort,
  typed,
  type ForeignSite,
  type OpenPort,
  type ForeignPagePlan,
} from './foreign-page.ts';

const slow = { TURNSTREAM_GROUP_SIZE: '4', TURNSTREAM_BATCH_GROUPS: '2', TURNSTREAM_LOG_LEVEL: 'error', ...atMostEvery(10_000) };
const evil = 'CREATE TABLE default.evil (x UInt8) ENGINE = Memory';
const subject = 'evil-value';

const json = JSON.stringify({ query: 'SELECT 1', schema: '"string"', queries: ['capital'], urls: ['factbook://europe/austria'] });

/** Requests by route and status, as the API counts them; those of this test are /metrics, /readyz and the requests below. */
async function requestsOf(apiUrl: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${apiUrl}/metrics`)).text();
  const lines = [...text.matchAll(/^turnstream_api_requests_total\{([^}]*)\} (\d+)/gm)];
  return new Map(lines.map(([, labels = '', count]) => [labels, Number(count)]));
}

const linux = process.platform === 'linux';

describe.skipIf(chromium === undefined || !linux)('a page of another origin (skipped without Chromium)', { timeout: 600_000 }, () => {
  let home: TestHome;
  let up: UpProcess;
  let site: ForeignSite;
  let open: OpenPort;
  let health: HealthServer;
  let retrieval: RetrievalServer;
  let apiUrl = '';
  let ports: readonly number[] = [];
  let brokerPorts: readonly number[] = [];
  const calls: string[] = [];

  /** A broker has no paths; the ports of health and retrieval have only their own. */
  const pathsOf = (port: number, canary: number): readonly string[] => {
    if (brokerPorts.includes(port)) return ['/v1/runs'];
    if (port === health.port) return ['/healthz', '/readyz', '/metrics'];
    if (port === Number(new URL(retrieval.url).port)) return ['/retrieve', '/access'];
    const statement = `SELECT * FROM url('http://127.0.0.1:${canary}/stolen', LineAsString)`;
    return [
      ...['/v1/runs', '/v1/live', '/v1/sql', '/metrics', `/registry/subjects/${subject}/versions`],
      ...[evil, statement].map((text) => `/?query=${encodeURIComponent(text)}`),
    ];
  };
  const planFor = (some: readonly number[], canary: number): ForeignPagePlan => ({
    urls: some.flatMap((port) => pathsOf(port, canary).map((path) => `http://127.0.0.1:${port}${path}`)),
    statement: evil,
    json,
  });

  beforeAll(async () => {
    home = await testHome(slow);
    up = startUp(home, ['--run', 'doors', '--no-eval']);
    await up.until(({ event, step }) => event === 'progress' && (step ?? 0) >= 1);
    await vi.waitFor(
      async () => {
        expect((await fetch(`${up.services().apiUrl}/readyz`)).status).toBe(200);
      },
      { timeout: 60_000, interval: 200 },
    );
    ({ apiUrl } = up.services());
    [site, open] = await Promise.all([startForeignSite(), startOpenPort()]);
    const status = (): RoleStatus => {
      calls.push('status');
      return { state: 'live', detail: '', figures: {} };
    };
    const metricsText = (): Promise<string> => Promise.resolve(String(calls.push('metrics')));
    health = await startHealthServer({ host: '127.0.0.1', port: 0, role: 'worker', status, sinceMs: () => 0, metricsText });
    const retrieve = (): Promise<[]> => Promise.resolve(calls.push('retrieve')).then(() => []);
    const access = (): Promise<undefined> => Promise.resolve(calls.push('access')).then(() => undefined);
    retrieval = await startRetrievalServer({ retrieve, access }, { host: '127.0.0.1', port: 0 });
    const pids = [up.pid, ...Object.values(up.services().processes)];
    brokerPorts = listeningPorts(up.services().processes['kafka'] ?? 0);
    ports = [...new Set([...pids.flatMap(listeningPorts), health.port, Number(new URL(retrieval.url).port)])];
  });

  afterAll(async () => {
    await Promise.all([site.close(), open.close(), health.close(), retrieval.close()]);
    await home.remove();
  });

  it('does not keep out a user who types the address', async () => {
    expect(await typed(`${apiUrl}/v1/runs`)).toContain('doors');
    expect(await typed(apiUrl.replace('127.0.0.1', 'localhost') + '/healthz')).toContain('alive');
  });

  it('is refused under a domain that resolves to this machine', async () => {
    for (const path of ['/', '/v1/runs']) {
      const text = await typed(`${apiUrl.replace('127.0.0.1', FOREIGN_NAME)}${path}`);
      expect(text).toContain('FOREIGN_ORIGIN');
      expect(text).not.toContain('doors');
    }
  });

  it('reaches a port without an origin check in many ways', async () => {
    const { read } = await site.attack('127.0.0.1', planFor([open.port], open.port));
    const expected = [
      'GET iframe',
      'GET image',
      'GET script',
      'GET empty',
      'POST empty',
      'HEAD empty',
      'POST iframe',
      'PUT empty',
      'QUERY empty',
    ];
    expect([...open.seen]).toEqual(
      expect.arrayContaining([...expected, 'GET style', 'upgrade', 'DELETE empty', 'GET object', 'GET video']),
    );
    expect(read.length).toBeGreaterThan(5);
  });

  it.each(['127.0.0.1', 'localhost', FOREIGN_NAME])('reads nothing and does nothing from http://%s', async (host) => {
    const urlsOfUp = [apiUrl, up.services().clickhouseUrl, ...up.services().kafkaBrokers.map((broker) => `tcp://${broker}`)];
    for (const url of urlsOfUp) expect(ports).toContain(Number(new URL(url).port));
    const canary = await startOpenPort();
    const before = await requestsOf(apiUrl);
    const { read, ways } = await site.attack(host, planFor(ports, canary.port));
    expect(ways.length).toBeGreaterThan(40);
    expect(read).toEqual([]);
    expect(calls).toEqual([]);
    const after = [...(await requestsOf(apiUrl))].filter(([labels, count]) => count > (before.get(labels) ?? 0)).map(([labels]) => labels);
    const mine = /route="\/(metrics|readyz)",status="200"/;
    expect(after.filter((labels) => !labels.includes('status="403"') && !mine.test(labels))).toEqual([]);
    expect(after.some((labels) => labels.includes('status="403"'))).toBe(true);
    expect(await (await fetch(`${apiUrl}/registry/subjects`)).json()).not.toContain(subject);
    expect([...canary.seen]).toEqual([]);
    await canary.close();
  });

  it('leaves no table and takes no broker down', async () => {
    const store = connectWarehouse(withKnownAddresses(loadConfig(home.env)));
    expect(await store.query("SELECT name FROM system.tables WHERE name = 'evil'")).toEqual([]);
    await store.close();
    expect((await fetch(`${apiUrl}/readyz`)).status).toBe(200);
  });

  it('finds that Kafka takes HTTP for a request of over 100 MB, and closes the connection', async () => {
    expect(brokerPorts).toEqual(expect.arrayContaining(up.services().kafkaBrokers.map((broker) => Number(broker.split(':')[1]))));
    for (const method of ['GET', 'POST', 'PUT', 'OPTIONS']) {
      for (const port of brokerPorts) {
        expect(await answerTo(port, `${method} / HTTP/1.1\r\nHost: x\r\n\r\n\0\0\0\x14`)).toBe('');
      }
    }
  });
});

/** What a port sends before it closes the connection. */
function answerTo(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setTimeout(10_000, () => {
      reject(new Error('it does not hang up'));
    });
    socket.on('data', (part: Buffer) => (text += part.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(text);
    });
  });
}
