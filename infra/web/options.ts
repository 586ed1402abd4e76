// Options of web search and page access.

export interface WebOptions {
  /** URL of Serper. */
  readonly serperUrl: string;
  /** Never logged. */
  readonly serperApiKey: string;
  /** Results per search. */
  readonly topK: number;
  /** The page reader: the built-in one, or Jina's. */
  readonly reader: 'builtin' | 'jina';
  readonly jinaUrl: string;
  /** Empty sends no key. Never logged. */
  readonly jinaApiKey: string;
  /** Concurrent searches, and concurrent page fetches, per worker. */
  readonly searchConcurrency: number;
  readonly accessConcurrency: number;
  /** Timeout of one attempt. */
  readonly timeoutMs: number;
  /** Attempts after the first. */
  readonly retries: number;
  readonly maxPageBytes: number;
  readonly maxRedirects: number;
  /** `host:port` of private services whose pages may be read. */
  readonly allowed: readonly string[];
  readonly cacheFolder: string;
  readonly cacheMaxBytes: number;
  readonly cacheTtlMs: number;
}
