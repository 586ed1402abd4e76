// The configured tools. Code for web access is loaded only when it is used.
import { join } from 'node:path';
import type { Tool } from '../../../../streams/core/agents.ts';
import type { Config } from '../../../config/descriptors.ts';
import { assertDataDir } from '../../../lifecycle/data-dir.ts';
import { assembleTools } from '../../../../producers/rollouts/tools/registry.ts';
import type { WebOptions } from '../../../web/options.ts';
import { ownTools } from './own-module.ts';

export interface ToolSet {
  readonly tools: readonly Tool[];
  close(): Promise<void>;
}

const MB = 2 ** 20;
const HOUR_MS = 3_600_000;

/** Options of web search and page access. */
const webOptionsOf = (config: Config): WebOptions => ({
  serperUrl: config.serperUrl,
  serperApiKey: config.serperApiKey,
  topK: config.searchTopK,
  reader: config.webReader,
  jinaUrl: config.jinaUrl,
  jinaApiKey: config.jinaApiKey,
  searchConcurrency: config.searchConcurrency,
  accessConcurrency: config.accessConcurrency,
  timeoutMs: config.webTimeoutMs,
  retries: config.webRetries,
  maxPageBytes: config.webMaxPageKb * 1_024,
  maxRedirects: config.webMaxRedirects,
  allowed: config.webAllowedHosts,
  cacheFolder: join(config.dataDir, 'web-cache'),
  cacheMaxBytes: config.webCacheMb * MB,
  cacheTtlMs: config.webCacheHours * HOUR_MS,
});

/** Creates the tools; the caller closes them. The tools of a user's module are added to the others, or are the only ones. */
export async function toolsOf(config: Config): Promise<ToolSet> {
  const { toolsModule: path, tools: source } = config;
  const own = path === '' ? [] : await ownTools(path, source === 'module' ? 'all' : 'added');
  const found = await sourceOf(config);
  return { tools: source === 'module' ? own : assembleTools(found.tools, own), close: () => found.close() };
}

/** The source for search and page access. */
async function sourceOf(config: Config): Promise<ToolSet> {
  switch (config.tools) {
    case 'factbook': {
      const { createFactbookTools } = await import('../../../../producers/factbook/tools.ts');
      return { tools: createFactbookTools(), close: () => Promise.resolve() };
    }
    case 'web': {
      assertDataDir(config.dataDir);
      const { createWebTools } = await import('../../../web/web-tools.ts');
      return createWebTools(webOptionsOf(config), { now: Date.now, random: Math.random });
    }
    case 'module':
      return { tools: [], close: () => Promise.resolve() };
    case 'local': {
      const { createRetrievalTools } = await import('../../../web/retrieval-client.ts');
      const { retrievalUrl: url, searchTopK: topK, webTimeoutMs: timeoutMs, webRetries: retries } = config;
      const { searchConcurrency, accessConcurrency } = config;
      return {
        tools: createRetrievalTools({ url, topK, searchConcurrency, accessConcurrency, timeoutMs, retries, random: Math.random }),
        close: () => Promise.resolve(),
      };
    }
  }
}
