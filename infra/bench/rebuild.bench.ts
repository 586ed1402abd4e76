// Measures the duration of `turnstream warehouse rebuild`, and checks that its audit passes. `npm run bench rebuild`
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { say, withSite, type BenchSite } from './local-bench.ts';
import { publish, whole, type BenchReport } from './report.ts';
import { startTablesWorld } from './tables-world.ts';

const { values: flags } = parseArgs({
  options: {
    turns: { type: 'string', default: '1000000' },
    'turn-bytes': { type: 'string', default: '2000' },
    partitions: { type: 'string', default: '4' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const STORE_SECONDS = 60;
const turns = flags.quick ? 20_000 : Number(flags.turns);

interface RebuildResult {
  readonly records: number;
  readonly turns: number;
  readonly storeSeconds: number;
  readonly auditSeconds: number;
  readonly seconds: number;
  readonly said: string;
}

const LAST = /^(\w+): (\d+) records stored in ([\d.]+) s \(\d+\/s\), (\d+) compared in ([\d.]+) s/m;

async function measure(site: BenchSite): Promise<RebuildResult> {
  const world = await startTablesWorld(site, 'rebuild', Number(flags.partitions));
  say(`writing ${whole(turns)} turns`);
  await world.command('load', '--turns', String(turns), '--turn-bytes', flags['turn-bytes'], '--run', 'rebuild', '--purpose', 'train');
  say('rebuilding');
  const began = performance.now();
  const said = await world.command('warehouse', 'rebuild');
  const seconds = (performance.now() - began) / 1_000;
  const last = LAST.exec(said);
  if (last === null) throw new Error(`the rebuild said something else: ${said.slice(-500)}`);
  const [count] = await world.store.query<{ n: number }>('select count() as n from turns');
  return {
    ...{ records: Number(last[2]), turns: count?.n ?? 0, storeSeconds: Number(last[3]), auditSeconds: Number(last[5]), seconds },
    said: last[1] ?? '',
  };
}

function reportOf(found: RebuildResult, environment: BenchReport['environment']): BenchReport {
  const { records, storeSeconds, auditSeconds, seconds, said } = found;
  const s = (value: number): string => `${value.toFixed(1)} s`;
  return {
    name: 'rebuild',
    title: 'The tables made again from the log',
    method:
      'A log of `turnstream load`, then `turnstream warehouse rebuild` as its users call it: it removes the tables, stores the whole log in new ones, exactly once, and compares both by count and by checksum.',
    quick: flags.quick,
    environment,
    parameters: { turns: found.turns, 'turn bytes': flags['turn-bytes'], partitions: flags.partitions },
    table: {
      columns: ['turns', 'records', 'stored in', 'records/s', 'audited in', 'the whole command'],
      rows: [[whole(found.turns), whole(records), s(storeSeconds), whole(records / storeSeconds), s(auditSeconds), s(seconds)]],
    },
    targets: [
      {
        what: `${whole(turns)} turns stored again`,
        wanted: `under ${STORE_SECONDS} s`,
        found: s(storeSeconds),
        met: storeSeconds < STORE_SECONDS,
      },
      { what: 'turns in the table', wanted: `at least ${whole(turns)}`, found: whole(found.turns), met: found.turns >= turns },
      { what: 'audit', wanted: 'OK', found: said, met: said === 'OK' },
    ],
    figures: found,
  };
}

if (flags.help) {
  process.stdout.write('npm run bench rebuild -- [--turns 1000000] [--turn-bytes 2000] [--partitions 4] [--out dir] [--quick]\n');
} else {
  const environment = describeEnvironment();
  const report = reportOf(await withSite(measure), environment);
  if (!(await publish(report, flags.out))) process.exitCode = flags.quick ? 0 : 1;
}
