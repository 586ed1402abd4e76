// Where the API listens, who may use it and how much; part of the table in descriptors.ts.

export const apiDescriptors = {
  apiHost: {
    env: 'TURNSTREAM_API_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'Address that the API listens on. Any address except loopback requires TURNSTREAM_API_KEYS.',
  },
  apiPort: {
    env: 'TURNSTREAM_API_PORT',
    kind: 'whole',
    min: 0,
    max: 65_535,
    fallback: 8787,
    help: 'Port of the API; 0 picks a free one. Unset: the default, or another port that is shown when the default is taken.',
  },
  apiNames: {
    env: 'TURNSTREAM_API_NAMES',
    kind: 'list',
    fallback: [],
    pattern: /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
    shape: 'a host name in lower case, without a port',
    help: 'Host names of reverse proxies in front of the API, comma separated. On loopback, only these and the names of this machine are accepted.',
  },
  apiKeys: {
    env: 'TURNSTREAM_API_KEYS',
    kind: 'list',
    fallback: [],
    pattern: /^[^\s:]{16,}:(read|write|sql|admin)(\+(read|write|sql|admin))*$/,
    shape: '<key of 16 or more characters>:<scope>[+<scope>…]',
    help: 'API keys with scopes read, write, sql, admin. None: loopback only, with every scope.',
    secret: true,
  },
  apiCorsOrigins: {
    env: 'TURNSTREAM_API_CORS_ORIGINS',
    kind: 'list',
    fallback: [],
    pattern: /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$|^https?:\/\/\[[0-9a-f:]+\](:\d{1,5})?$/,
    shape: 'an origin as a browser sends it, such as https://ui.example or http://localhost:5173',
    help: 'Origins whose pages may use the API from a browser (CORS). None: pages of other origins have no access.',
  },
  apiRequestsPerSecond: {
    env: 'TURNSTREAM_API_REQUESTS_PER_SECOND',
    kind: 'whole',
    min: 0,
    max: 1_000_000,
    fallback: 5_000,
    help: 'Requests per second of one API key, or of one address without keys; bursts may be twice as large. 0 = no limit.',
  },
  apiFreshMs: {
    env: 'TURNSTREAM_API_FRESH_MS',
    kind: 'whole',
    min: 0,
    max: 60_000,
    fallback: 200,
    help: 'How old a response to a GET may be when it is shared by equal requests; if it took long, up to ten times as long as it took, but at most 10 s. While a newer one is being read, up to five times as old. 0 reads the tables every time.',
  },
} as const;
