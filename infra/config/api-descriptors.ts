// Where the API listens, who may use it and how much; part of the table in descriptors.ts.

export const apiDescriptors = {
  apiHost: {
    env: 'TURNSTREAM_API_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    help: 'Address the API listens on. Any but loopback needs TURNSTREAM_API_KEYS.',
  },
  apiPort: {
    env: 'TURNSTREAM_API_PORT',
    kind: 'whole',
    min: 0,
    max: 65_535,
    fallback: 8787,
    help: 'Port of the API; 0 chooses a free one. Unset: `turnstream up` and `turnstream serve` choose another one where the default is taken, and show it.',
  },
  apiNames: {
    env: 'TURNSTREAM_API_NAMES',
    kind: 'list',
    fallback: [],
    pattern: /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
    shape: 'a host name in lower case, without a port',
    help: 'Host names of reverse proxies that people reach the API by, comma separated. On loopback every other name but those of this machine is refused.',
  },
  apiKeys: {
    env: 'TURNSTREAM_API_KEYS',
    kind: 'list',
    fallback: [],
    pattern: /^[^\s:]{16,}:(read|write|sql|admin)(\+(read|write|sql|admin))*$/,
    shape: '<key of 16 or more characters>:<scope>[+<scope>…]',
    help: 'API keys with scopes read, write, sql, admin. None: loopback only, everything allowed.',
    secret: true,
  },
  apiCorsOrigins: {
    env: 'TURNSTREAM_API_CORS_ORIGINS',
    kind: 'list',
    fallback: [],
    pattern: /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$|^https?:\/\/\[[0-9a-f:]+\](:\d{1,5})?$/,
    shape: 'an origin as a browser sends it, such as https://ui.example or http://localhost:5173',
    help: 'Origins whose pages may use the API from a browser (CORS). None: pages of other origins cannot read it.',
  },
  apiRequestsPerSecond: {
    env: 'TURNSTREAM_API_REQUESTS_PER_SECOND',
    kind: 'whole',
    min: 0,
    max: 1_000_000,
    fallback: 5_000,
    help: 'Requests of one API key, or of one address without keys; twice as many at once. 0 = no limit.',
  },
  apiFreshMs: {
    env: 'TURNSTREAM_API_FRESH_MS',
    kind: 'whole',
    min: 0,
    max: 60_000,
    fallback: 200,
    help: 'How old an answer to a GET may be when many ask the same. One that took long may be ten times as old as it took, 10 s at most; any may be five times as old while a newer one is being read. 0 reads the tables for each.',
  },
} as const;
