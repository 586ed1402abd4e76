// Measures the costs and benefits of each choice in the schema of the turns table: the same turns in tables that differ in one property:
// sort order, codecs, partitions, indexes, projections. `npm run bench tables`
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../streams/core/ports.ts';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { median } from './statistics.ts';
import { startTablesWorld } from './tables-world.ts';

const { values: flags } = parseArgs({
  options: {
    turns: { type: 'string', default: '1000000' },
    'turn-bytes': { type: 'string', default: '800' },
    rounds: { type: 'string', default: '5' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const RUN = 'tables';
const TABLE = 'turns_variant';
const turns = flags.quick ? 20_000 : Number(flags.turns);
const rounds = flags.quick ? 1 : Number(flags.rounds);
const SETTINGS = { max_insert_threads: 2, max_execution_time: 600 } as const;

interface TableVariant {
  readonly name: string;
  /** Derived from the statement that creates the current table. */
  readonly ddl: (asItIs: string) => string;
  /** Runs after the table is created. */
  readonly then?: string;
}

const order = (by: string) => (ddl: string) => ddl.replace(/ORDER BY \([^)]*\)/, `ORDER BY (${by})`);
const partition = (by: string | undefined) => (ddl: string) =>
  ddl.replace(/PARTITION BY [^\n]*\n/, by === undefined ? '' : `PARTITION BY ${by}\n`);
const texts = (codec: string) => (ddl: string) => ddl.replace(/CODEC\(ZSTD\(3\)\)/g, `CODEC(${codec})`);
const TOOLS = `ALTER TABLE ${TABLE} ADD PROJECTION tools (
  SELECT run_id, tool, tool_error_type, policy_version_max, count(), quantiles(0.5, 0.95)(tool_ms), argMax(tool_arguments, tool_ms)
  GROUP BY run_id, tool, tool_error_type, policy_version_max)`;

const variants: readonly TableVariant[] = [
  { name: 'as it is', ddl: (ddl) => ddl },
  { name: 'order: run_id, _timestamp', ddl: order('run_id, _timestamp') },
  { name: 'order: run_id, tool, trajectory_id, attempt, turn', ddl: order('run_id, tool, trajectory_id, attempt, turn') },
  { name: 'texts: LZ4', ddl: texts('LZ4') },
  { name: 'texts: ZSTD(1)', ddl: texts('ZSTD(1)') },
  { name: 'texts: ZSTD(6)', ddl: texts('ZSTD(6)') },
  { name: 'partitions: none', ddl: partition(undefined) },
  { name: 'partitions: day and hash of the trajectory', ddl: partition('(toYYYYMMDD(_timestamp), cityHash64(trajectory_id) % 8)') },
  { name: 'indexes: none', ddl: (ddl) => ddl.replace(/,\n\s+INDEX [^\n,]*/g, '') },
  { name: 'projection: tools by version', ddl: (ddl) => ddl, then: TOOLS },
];

/** Typical queries on the variant's table; `{id:String}` is a trajectory, `{ids:Array(String)}` are 64. */
const questions: readonly (readonly [string, string])[] = [
  [
    'a page of a trajectory',
    `SELECT turn, tool, text_head, tool_arguments FROM ${TABLE} WHERE run_id = {run:String} AND trajectory_id = {id:String} ORDER BY attempt, turn LIMIT 50`,
  ],
  [
    'the same without its run',
    `SELECT turn, tool, text_head, tool_arguments FROM ${TABLE} WHERE trajectory_id = {id:String} ORDER BY attempt, turn LIMIT 50`,
  ],
  [
    'the same with whole texts',
    `SELECT turn, tool, text, tool_result FROM ${TABLE} WHERE run_id = {run:String} AND trajectory_id = {id:String} ORDER BY attempt, turn LIMIT 50`,
  ],
  [
    'turns of 64 trajectories',
    `SELECT trajectory_id, turn, tool, tool_ms, tool_arguments FROM ${TABLE} WHERE run_id = {run:String} AND trajectory_id IN {ids:Array(String)} ORDER BY trajectory_id, attempt, turn`,
  ],
  [
    'tools by version',
    `SELECT tool, tool_error_type, policy_version_max, count(), quantiles(0.5, 0.95)(tool_ms), argMax(tool_arguments, tool_ms) FROM ${TABLE} WHERE run_id = {run:String} GROUP BY run_id, tool, tool_error_type, policy_version_max`,
  ],
  ['time by phase', `SELECT sum(generation_ms), sum(tool_ms) FROM ${TABLE} WHERE run_id = {run:String} AND purpose = 'train'`],
];

interface TableResult {
  readonly name: string;
  readonly writeSeconds: number;
  readonly bytes: number;
  /** Median ms of each query, in order. */
  readonly ms: readonly number[];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

interface Base {
  readonly store: Store;
  /** The statement that creates the same table as the sink's. */
  readonly asItIs: string;
  /** Sample trajectories. */
  readonly ids: readonly string[];
}

async function measureVariant({ store, asItIs, ids }: Base, variant: TableVariant): Promise<TableResult> {
  await store.command(`DROP TABLE IF EXISTS ${TABLE}`);
  await store.command(variant.ddl(asItIs));
  if (variant.then !== undefined) await store.command(variant.then);
  const columns = (await store.query<{ name: string }>(COLUMNS)).map(({ name }) => name).join(', ');
  const fill = `INSERT INTO ${TABLE} (${columns}) SELECT ${columns} FROM turns WHERE run_id = {run:String}`;
  const params = { run: RUN, id: ids[0] ?? '', ids };
  const writeSeconds = (await timed(() => store.command(fill, { params, settings: SETTINGS }))) / 1_000;
  await store.command(`OPTIMIZE TABLE ${TABLE} FINAL`, { settings: SETTINGS });
  const [size] = await store.query<{ bytes: number }>(SIZE);
  const ms: number[] = [];
  for (const [, sql] of questions) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      times.push(await timed(() => store.query(sql, { params: { ...params, id: ids[round % ids.length] ?? '' } })));
    }
    ms.push(median(times));
  }
  say(`${variant.name}: ${writeSeconds.toFixed(1)} s, ${whole((size?.bytes ?? NaN) / 1e6)} MB, ${ms.map(Math.round).join(' ')} ms`);
  return { name: variant.name, writeSeconds, bytes: size?.bytes ?? NaN, ms };
}

const COLUMNS =
  "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'turns' AND default_kind = '' ORDER BY position";
const SIZE = `SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE database = currentDatabase() AND table = '${TABLE}' AND active`;
const SOME = 'SELECT trajectory_id AS id FROM trajectories WHERE run_id = {run:String} ORDER BY cityHash64(trajectory_id) LIMIT 64';

async function measure(site: BenchSite): Promise<readonly TableResult[]> {
  const world = await startTablesWorld(site, 'tables', 4);
  const sink = await world.startWarehouse();
  await sink.until(({ state }) => state === 'live');
  say(`writing ${whole(turns)} turns`);
  await world.command('load', '--turns', String(turns), '--turn-bytes', flags['turn-bytes'], '--run', RUN, '--purpose', 'train');
  while ((await world.lag()) > 0) await sleep(500, undefined, { signal: site.signal });
  const { store } = world;
  const ids = (await store.query<{ id: string }>(SOME, { params: { run: RUN } })).map(({ id }) => id);
  const [made] = await store.query<{ statement: string }>('SHOW CREATE TABLE turns');
  const asItIs = (made?.statement ?? '').replace(/^CREATE TABLE \S+/, `CREATE TABLE ${TABLE}`);
  const found: TableResult[] = [];
  for (const variant of variants) found.push(await measureVariant({ store, asItIs, ids }, variant));
  return found;
}

function reportOf(found: readonly TableResult[], environment: BenchReport['environment']): BenchReport {
  return {
    name: 'tables',
    title: 'Choices of the table of turns',
    method:
      `${whole(turns)} turns of \`turnstream load\`, copied from the table of the sink into tables that differ from it in one thing, merged to one part a partition, and asked the same questions, ${rounds} times each (median, ms). ` +
      'Writing is the copy, with two threads, the table of the sink being read beside.',
    quick: flags.quick,
    environment,
    parameters: { turns, 'turn bytes': flags['turn-bytes'] },
    table: {
      columns: ['variant', 'written in', 'MB', ...questions.map(([name]) => name)],
      rows: found.map(({ name, writeSeconds, bytes, ms }) => [
        name,
        `${writeSeconds.toFixed(1)} s`,
        whole(bytes / 1e6),
        ...ms.map((one) => one.toFixed(0)),
      ]),
    },
    targets: [],
    figures: found,
  };
}

if (flags.help) {
  process.stdout.write('npm run bench tables -- [--turns 1000000] [--turn-bytes 800] [--rounds 5] [--out dir] [--quick]\n');
} else {
  const environment = describeEnvironment();
  await publish(reportOf(await withSite(measure), environment), flags.out);
}
