// Measures how fast records of turns become the rows that a trainer reads: from the bytes of the records, as they are in the log, to the
// bytes of the response. No broker takes part. `npm run bench rows`
import { parseArgs } from 'node:util';
import { ArrowRows } from '../../consumers/common/rows/arrow.ts';
import { describeEnvironment } from './environment.ts';
import { say } from './local-bench.ts';
import { publish, whole } from './report.ts';
import { recordsOf, rowsFrom, sizeOf, stages, type BatchRecords, type RowsStage } from './row-stages.ts';
import { median, spread } from './statistics.ts';

const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '256' },
    tokens: { type: 'string', default: '4096' },
    turns: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '5' },
    batches: { type: 'string', default: '8' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const rows = flags.quick ? 16 : Number(flags.rows);
const rounds = flags.quick ? 1 : Number(flags.rounds);
const batches = flags.quick ? 1 : Number(flags.batches);
const [tokens, turns] = [Number(flags.tokens), Number(flags.turns)];

const TARGET_MB = 200;
const MEMORY_MB = 64;
const TIMES = 12;
/** A token is 4 bytes of its id, 4 of its log-probability, and 1 of the mask. */
const BYTES_OF_TOKEN = 9;

interface StageMeasurement {
  readonly name: string;
  /** Columns per CPU second, MB: tokens × 9 bytes. */
  readonly columnRates: readonly number[];
  /** Response per CPU second, MB. */
  readonly byteRates: readonly number[];
}

function measure({ name, run }: RowsStage, batch: BatchRecords): StageMeasurement {
  const [columnRates, byteRates]: [number[], number[]] = [[], []];
  run(batch); // warms the code
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage();
    let bytes = 0;
    for (let time = 0; time < batches; time += 1) bytes += run(batch);
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1e6;
    columnRates.push((batches * rows * tokens * BYTES_OF_TOKEN) / 1e6 / seconds);
    byteRates.push(bytes / 1e6 / seconds);
  }
  say(`${name}: ${whole(median(columnRates))} MB of columns per CPU second`);
  return { name, columnRates, byteRates };
}

/** Peak growth of the resident memory while a batch of `times` as many rows is written, MB. */
function memoryOf(batch: BatchRecords, times: number): number {
  const before = process.memoryUsage.rss();
  let most = before;
  const stream = new ArrowRows();
  for (let time = 0; time < times; time += 1) {
    for (const row of rowsFrom(batch)) {
      stream.add(row);
      most = Math.max(most, process.memoryUsage.rss());
    }
  }
  return (most - before) / 1e6;
}

async function main(): Promise<boolean> {
  const environment = describeEnvironment();
  const batch = Array.from({ length: rows }, (_, at) => recordsOf(at, { tokens, turns }));
  const recordBytes = batch.reduce((sum, records) => sum + sizeOf(records), 0);
  const measured = stages.map((stage) => measure(stage, batch));
  const memoryMb = memoryOf(batch, flags.quick ? 2 : TIMES);
  const toArrow = median(measured[0]?.columnRates ?? []);
  return publish(
    {
      name: 'rows',
      title: 'Rows of tokens',
      method:
        'Records of turns, as the log holds them, become rows, and rows become an answer: in one thread, without a broker, a trajectory at a time. Half of the tokens are prompts. A token counts 9 bytes: its id, its log-probability, its mask. Rates are per CPU second, so that other work on the machine does not count.',
      quick: flags.quick,
      ...{ environment, parameters: { rows, tokens, turns, rounds, batches } },
      table: {
        columns: ['stage', 'MB of columns per CPU s', 'spread', 'MB of answer per CPU s'],
        rows: measured.map(({ name, columnRates, byteRates }) => [
          ...[name, whole(median(columnRates)), `${whole(100 * spread(columnRates))} %`, whole(median(byteRates))],
        ]),
      },
      targets: [
        { what: 'records to Arrow', wanted: `${TARGET_MB} MB/s`, found: `${whole(toArrow)} MB/s`, met: toArrow >= TARGET_MB },
        {
          what: `memory that a batch of ${TIMES} times the rows takes`,
          wanted: `at most ${MEMORY_MB} MB`,
          found: `${whole(memoryMb)} MB`,
          met: memoryMb <= MEMORY_MB,
        },
      ],
      figures: { measured, recordBytes, memoryMb },
    },
    flags.out,
  );
}

if (flags.help) {
  process.stdout.write('npm run bench rows -- [--rows 256] [--tokens 4096] [--turns 8] [--rounds 5] [--batches 8] [--out DIR] [--quick]\n');
} else {
  process.exitCode = (await main()) ? 0 : 1;
}
