// Measures how many requests per second the API answers on the list of steps, with 50 connections, during a run. The run is a real
// `turnstream up`: start it with TURNSTREAM_API_REQUESTS_PER_SECOND=0, because the default limit of 5,000 requests per second and address
// would return 429, then run `npm run bench api -- --url http://127.0.0.1:8787 --run <run>`. The client runs in this process, on the same
// machine, and takes its share of the processors.
import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
import { publish, whole } from './report.ts';
import { percentile } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8787' },
    run: { type: 'string' },
    connections: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '30' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const WANTED = 1_500;
const WARM_MS = 2_000;

interface ResponseTimes {
  readonly ms: readonly number[];
  readonly others: number;
  readonly seconds: number;
  /** Sum of the bodies of all responses. */
  readonly bytes: number;
}

/** One connection that repeats one request; it counts bytes without parsing them, to cost little. */
class RequestLane {
  readonly #socket: Socket;
  readonly #request: string;
  #left = 0;
  #head = '';
  #status = 0;
  /** Sum of the bodies of its responses. */
  bytes = 0;
  #answered: (status: number) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;

  constructor(url: URL) {
    this.#request = `GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`;
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    this.#socket.on('data', (bytes) => {
      this.#take(bytes);
    });
    this.#socket.once('error', (error) => {
      this.#failed(error);
    });
    this.#socket.once('close', () => {
      this.#failed(new Error('the API closed the connection'));
    });
  }

  /** The status of the response, once it is complete. */
  ask(): Promise<number> {
    return new Promise((resolve, reject) => {
      [this.#answered, this.#failed] = [resolve, reject];
      this.#socket.write(this.#request);
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (this.#left > 0) this.#left -= bytes.length;
    else {
      const before = this.#head.length;
      this.#head += bytes.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1];
      if (length === undefined) throw new Error(`an answer without a length: ${this.#head.slice(0, end)}`);
      this.#status = Number(this.#head.slice(9, 12));
      this.bytes += Number(length);
      this.#left = Number(length) - (before + bytes.length - end - 4);
      this.#head = '';
    }
    if (this.#left === 0) this.#answered(this.#status);
  }
}

/** Every connection sends the next request as soon as it has a response. */
async function ask(url: URL, connections: number, forMs: number): Promise<ResponseTimes> {
  const ms: number[] = [];
  let [others, bytes] = [0, 0];
  const started = performance.now();
  const run = async (): Promise<void> => {
    const lane = new RequestLane(url);
    for (let from = performance.now(); from - started < forMs; from = performance.now()) {
      if ((await lane.ask()) === 200) ms.push(performance.now() - from);
      else others += 1;
    }
    bytes += lane.bytes;
    lane.end();
  };
  await Promise.all(Array.from({ length: connections }, run));
  return { ms, others, bytes, seconds: (performance.now() - started) / 1_000 };
}

interface SinkCounters {
  /** Rows that the sink has stored so far; 0 without a warehouse next to this API. */
  readonly rows: number;
  /** CPU time of the API so far, s. */
  readonly cpu: number;
}

async function counters(): Promise<SinkCounters> {
  const text = await (await fetch(new URL('/metrics', flags.url))).text();
  const sum = (pattern: RegExp): number => [...text.matchAll(pattern)].reduce((all, [, count]) => all + Number(count), 0);
  return {
    rows: sum(/^turnstream_sink_rows_total\{[^}]*\} (\S+)/gm),
    cpu: sum(/^process_cpu_seconds_total\{[^}]*role="api"[^}]*\} (\S+)/gm),
  };
}

async function main(): Promise<void> {
  const connections = Number(flags.connections);
  const forMs = flags.quick ? 2_000 : Number(flags.seconds) * 1_000;
  const runs = (await (await fetch(new URL('/v1/runs?fields=run_id&limit=1', flags.url))).json()) as { items: { run_id: string }[] };
  const run = flags.run ?? runs.items[0]?.run_id ?? '';
  const url = new URL(`/v1/runs/${run}/steps`, flags.url);
  say(`asking for ${url.href} with ${connections} connections`);
  await ask(url, connections, WARM_MS);
  const before = await counters();
  const { ms, others, bytes, seconds } = await ask(url, connections, forMs);
  const after = await counters();
  const rows = after.rows - before.rows;
  const asked = ms.length + others;
  const cpuUs = ((after.cpu - before.cpu) * 1e6) / asked;
  const rate = ms.length / seconds;
  const met = await publish(
    {
      name: 'api',
      title: 'Requests a second on the list of steps',
      method:
        `${connections} connections that are kept alive ask for the first page of the steps of a run, again and again, while the ` +
        'sink of the same run writes. The client shares the processors with everything that it measures. About half of a request is ' +
        'writing its page to the socket, so rates are comparable only for pages of equal size.',
      quick: flags.quick,
      environment: describeEnvironment(),
      parameters: { connections, seconds: Math.round(seconds), run },
      table: {
        columns: [
          'requests/s',
          'p50 ms',
          'p99 ms',
          'slowest ms',
          'kB of a page',
          'other answers',
          'API CPU µs/request',
          'rows/s of the sink meanwhile',
        ],
        rows: [
          [
            ...[whole(rate), percentile(ms, 0.5).toFixed(1), percentile(ms, 0.99).toFixed(1), percentile(ms, 1).toFixed(1)],
            ...[(bytes / asked / 1_000).toFixed(1), String(others), whole(cpuUs), whole(rows / seconds)],
          ],
        ],
      },
      targets: [
        { what: 'requests/s', wanted: `at least ${whole(WANTED)}`, found: whole(rate), met: rate >= WANTED },
        { what: 'answers other than 200', wanted: '0', found: String(others), met: others === 0 },
      ],
      figures: { rate, p50: percentile(ms, 0.5), p99: percentile(ms, 0.99), others, rows, cpuUs },
    },
    flags.out,
  );
  process.exitCode = met ? 0 : 1;
}

if (flags.help)
  process.stdout.write('npm run bench api -- --url <api> [--run <run>] [--connections 50] [--seconds 30] [--quick] [--out <directory>]\n');
else await main();
