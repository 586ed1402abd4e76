// Measures the cost of a long outage: with a worker, a trainer and a warehouse running, first ClickHouse and then Kafka is unreachable for
// some minutes. Prints the resident memory and the buffers of each role before, during, at the end and after, and the time until every role
// is ready again and the tables have the whole log. `npm run bench outage -- --minutes 10`
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { waitUntilDrained } from '../app/open/drain.ts';
import { outageRoles, startOutageWorld, until, type OutageRole, type OutageWorld } from '../e2e/outage-world.ts';
import { pause } from '../lifecycle/waiting.ts';
import { createLogger } from '../telemetry/logger.ts';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
import { publish, type BenchReport } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    'warm-up': { type: 'string', default: '2' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const away = ['clickhouse', 'kafka'] as const;
type Away = (typeof away)[number];

interface RoleSample {
  readonly role: OutageRole;
  readonly state: string;
  readonly rssMb: number;
  /** Buffered events of the worker, or buffered records of the sink. */
  readonly waiting: number;
}

interface MeasuredOutage {
  readonly away: Away;
  readonly looks: Readonly<Record<'before' | 'middle' | 'end' | 'after', readonly RoleSample[]>>;
  readonly readyMs: number;
  readonly drainedMs: number;
}

const PATIENCE_MS = 900_000;
/** Tolerated growth of a role's memory during an outage: uncollected garbage and the bounded buffers. */
const GROWTH_MB = 160;

async function look(world: OutageWorld): Promise<readonly RoleSample[]> {
  return Promise.all(
    outageRoles.map(async (role) => {
      const asked = world.roles[role];
      const [{ state }, rss, events, records] = await Promise.all([
        asked.says(),
        asked.metric('process_resident_memory_bytes'),
        asked.metric('turnstream_worker_events_waiting'),
        asked.metric('turnstream_sink_buffered_records'),
      ]);
      return { role, state, rssMb: Math.round(rss / 1e6), waiting: events + records };
    }),
  );
}

async function endure(world: OutageWorld, what: Away, signal: AbortSignal): Promise<MeasuredOutage> {
  const halfMs = Number(flags.minutes) * 30_000;
  const before = await look(world);
  say(`${what} goes away`);
  world[what].set('refuse', 'everyone');
  await pause(halfMs, signal);
  const middle = await look(world);
  await pause(halfMs, signal);
  const end = await look(world);
  signal.throwIfAborted();
  say(`${what} is back`);
  world[what].set('pass', 'everyone');
  const backMs = Date.now();
  await until('every role is ready', PATIENCE_MS, async () =>
    (await Promise.all(outageRoles.map((role) => world.roles[role].ready()))).every(Boolean),
  );
  const readyMs = Date.now() - backMs;
  await waitUntilDrained(world.config, createLogger({ level: 'warn', role: 'bench' }), signal);
  const drainedMs = Date.now() - backMs;
  return { away: what, looks: { before, middle, end, after: await look(world) }, readyMs, drainedMs };
}

function rowsOf(outage: MeasuredOutage): readonly (readonly string[])[] {
  const { before, middle, end, after } = outage.looks;
  return before.map((first, i) => {
    const all = [first, middle[i], end[i], after[i]];
    return [
      outage.away,
      first.role,
      ...all.map((one) => String(one?.rssMb ?? '')),
      `${String(middle[i]?.state)} / ${String(end[i]?.state)}`,
      `${String(middle[i]?.waiting)} / ${String(end[i]?.waiting)}`,
      `${(outage.readyMs / 1_000).toFixed(1)} s`,
      `${(outage.drainedMs / 1_000).toFixed(1)} s`,
    ];
  });
}

/** From the middle of the outage, when every buffer is full, to its end. */
const growthOf = ({ looks }: MeasuredOutage): number =>
  Math.max(...looks.end.map(({ rssMb }, i) => rssMb - (looks.middle[i]?.rssMb ?? rssMb)));

async function run(dir: string, signal: AbortSignal): Promise<BenchReport> {
  const environment = describeEnvironment();
  const program = join(process.cwd(), 'infra', 'cli', 'turnstream.mjs');
  const logger = createLogger({ level: 'warn', role: 'bench' });
  const world = await startOutageWorld({
    ...{ dir, program, run: 'outage', logger, base: process.env, libsDir: join('.turnstream', 'kafka', 'libs') },
    env: { TURNSTREAM_LOG_LEVEL: 'warn' },
  });
  try {
    await until('every role is ready', PATIENCE_MS, async () =>
      (await Promise.all(outageRoles.map((role) => world.roles[role].ready()))).every(Boolean),
    );
    say('warming up');
    await pause(Number(flags['warm-up']) * 60_000, signal);
    const outages: MeasuredOutage[] = [];
    for (const what of away) outages.push(await endure(world, what, signal));
    const growth = Math.max(...outages.map(growthOf));
    const lived = outageRoles.every((role) => world.roles[role].alive());
    return {
      name: 'outage',
      title: 'Memory and recovery of the roles during outages of ClickHouse and Kafka',
      method:
        'A worker, a trainer, and a warehouse with default settings, a local broker, and a local store. Broker and store are behind proxies that refuse every connection during the outage. Memory is resident memory in MB.',
      quick: Number(flags.minutes) < 10,
      environment,
      parameters: { minutes: flags.minutes, 'warm-up': flags['warm-up'] },
      table: {
        columns: ['away', 'role', 'before', 'middle', 'end', 'after', 'state', 'waiting', 'ready after', 'stored after'],
        rows: outages.flatMap(rowsOf),
      },
      targets: [
        {
          what: 'growth of a role from the middle to the end of an outage',
          wanted: `under ${GROWTH_MB} MB`,
          found: `${growth} MB`,
          met: growth < GROWTH_MB,
        },
        { what: 'no role ended', wanted: 'yes', found: lived ? 'yes' : 'no', met: lived },
      ],
      figures: outages,
    };
  } finally {
    await world.close();
  }
}

if (flags.help) {
  process.stdout.write('npm run bench outage -- [--minutes 10] [--warm-up 2] [--out DIRECTORY]\n');
} else {
  const abort = new AbortController();
  process.once('SIGINT', () => {
    abort.abort(new Error('stopped'));
  });
  const dir = await mkdtemp(join(tmpdir(), 'turnstream-outage-'));
  try {
    const report = await run(dir, abort.signal);
    if (!(await publish(report, flags.out))) process.exitCode = 1;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
