// `npm run torture:sink -- --kills 300 --seed 1 [--lanes 3] [--out F]`: sinks on tables without deduplication, which are killed at their
// crash points and lose their offsets. Exit code 1 when a row is duplicated, lost or changed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startLocalKafka } from '../../kafka/broker/local.ts';
import { silentLogger } from '../../testing/logger.ts';
import { startTestStore } from '../../testing/store.ts';
import { flagsOr } from '../flags.ts';
import { tortureSink, type LaneFindings } from './sink-lane.ts';

const figures = ['forgotten', 'records', 'rows', 'doubled', 'lost', 'changed'] as const;

function addUp(lanes: readonly LaneFindings[]) {
  const kills: Record<string, number> = {};
  for (const lane of lanes) for (const [point, times] of Object.entries(lane.kills)) kills[point] = (kills[point] ?? 0) + times;
  const sums = Object.fromEntries(figures.map((name) => [name, lanes.reduce((all, lane) => all + lane[name], 0)]));
  return {
    kills: Object.values(kills).reduce((all, times) => all + times, 0),
    killsAt: kills,
    ...sums,
    equal: lanes.every(({ equal }) => equal),
  };
}

const HELP = `npm run torture:sink -- [flags]

  --kills N   how often a sink is killed, in all lanes (300)
  --seed S    (1)
  --lanes L   sinks that are tortured at the same time, each with topics and tables of its own (3)
  --out FILE  the result as JSON`;

function askedFor() {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      lanes: { type: 'string', default: '3' },
      out: { type: 'string', default: '' },
    },
  });
  const [kills, seed, lanes] = [Number(values.kills), Number(values.seed), Number(values.lanes)];
  if (![kills, seed, lanes].every((value) => Number.isInteger(value) && value > 0))
    throw new RangeError('--kills, --seed and --lanes are whole numbers over 0');
  return { kills, seed, lanes, out: values.out };
}

async function main(): Promise<number> {
  const { kills, seed, lanes, out } = flagsOr(HELP, askedFor);
  const dir = mkdtempSync(join(tmpdir(), 'turnstream-torture-sink-'));
  const libsDir = join(process.cwd(), '.turnstream', 'kafka', 'libs');
  const [kafka, store] = await Promise.all([startLocalKafka({ dataDir: dir, libsDir, logger: silentLogger }), startTestStore()]);
  const beganMs = Date.now();
  let done = 0;
  try {
    const found = await Promise.all(
      Array.from({ length: lanes }, (_, lane) =>
        tortureSink({
          brokers: kafka.brokers,
          storeUrl: store.url,
          namespace: `torture-test-${lane}`,
          dataDir: join(dir, `lane-${lane}`),
          kills: Math.floor(kills / lanes) + (lane < kills % lanes ? 1 : 0),
          seed: seed * 1_000 + lane,
          onKill: (point) => {
            done += 1;
            process.stdout.write(`${String(done).padStart(4)}/${kills}  ${point}\n`);
          },
        }),
      ),
    );
    const result = { seed, lanes, seconds: Math.round((Date.now() - beganMs) / 1_000), dedupWindow: 0, ...addUp(found) };
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    if (out !== '') {
      mkdirSync(dirname(out), { recursive: true });
      writeFileSync(out, `${JSON.stringify(result, null, 2)}\n`);
    }
    return result.equal ? 0 : 1;
  } finally {
    await kafka.stop();
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

process.exitCode = await main();
