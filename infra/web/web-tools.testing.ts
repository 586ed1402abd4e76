// Shared by the tests of the web tools: a site on an allowed address, one on a private address, and tools that may read only the first.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startWebSite, type WebSite } from '../testing/web-site.ts';
import type { Resolve } from './guarded-agent.ts';
import type { WebOptions } from './options.ts';
import { createWebTools, type WebTools } from './web-tools.ts';

export let site: WebSite;

/** A server that must never receive a request. */
export let inside: WebSite;

export let folder = '';

const opened: WebTools[] = [];

/** Call it at the top level of a test file. */
export function setUpWebTools(): void {
  beforeAll(async () => {
    [site, inside] = await Promise.all([startWebSite(), startWebSite()]);
    folder = mkdtempSync(join(tmpdir(), 'turnstream-web-'));
  });
  afterAll(async () => {
    await Promise.all(opened.map((tools) => tools.close()));
    await Promise.all([site.close(), inside.close()]);
    rmSync(folder, { recursive: true, force: true });
  });
}

let folders = 0;

export const addresses = new Map<string, readonly string[]>();

const resolve: Resolve = (hostname, _options, done) => {
  const found = addresses.get(hostname) ?? (hostname === 'localhost' ? ['127.0.0.1'] : undefined);
  if (found === undefined) done(Object.assign(new Error(`no address of ${hostname}`), { code: 'ENOTFOUND' }), []);
  else
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
};

export function web(more: Partial<WebOptions> = {}) {
  folders += 1;
  const made = createWebTools(
    {
      ...{ serperUrl: `${site.url}/page/1`, serperApiKey: 'key', topK: 3, reader: 'builtin', jinaUrl: site.url, jinaApiKey: '' },
      ...{ searchConcurrency: 4, accessConcurrency: 16, timeoutMs: 30_000, retries: 0, maxPageBytes: 2 ** 20, maxRedirects: 4 },
      ...{ allowed: [site.host, site.rawHost], cacheFolder: join(folder, String(folders)), cacheMaxBytes: 2 ** 26, cacheTtlMs: 60_000 },
      ...more,
    },
    { now: () => 1_000, random: () => 0.5, resolve },
  );
  opened.push(made);
  const [search, access] = made.tools;
  const signal = (): AbortSignal => new AbortController().signal;
  return {
    search: (query: string) => search!.call(query, signal()),
    access: (url: string) => access!.call(url, signal()),
    tools: made.tools,
  };
}
