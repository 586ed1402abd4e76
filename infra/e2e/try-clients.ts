// `npm run clients` tries third-party clients on a local `turnstream up`: confluent-kafka, fastavro and kcat on the log and the registry;
// clickhouse-connect and ClickHouse's client for Node on the tables; curl, pandas, DuckDB, pyarrow and Prometheus' parser on the API and on
// exports. They read everything and write only to databases of their own, which they remove. Exits with 1 when one of them fails. Programs
// that are not installed and cannot be installed here are listed.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { has } from './clients.ts';

const { values: flags } = parseArgs({ options: { run: { type: 'string' }, only: { type: 'string', default: '' } } });
const folder = join('infra', 'e2e', 'clients');
const program = [process.execPath, join(process.cwd(), 'infra', 'cli', 'turnstream.mjs')] as const;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** A Python with the packages; created on first use. */
function python(): string {
  const venv = join('.turnstream', 'clients-venv');
  const file = join(venv, 'bin', 'python');
  const ready = (): boolean =>
    spawnSync(file, ['-c', 'import clickhouse_connect, confluent_kafka, duckdb, pandas, prometheus_client, pyarrow']).status === 0;
  if (existsSync(file) && ready()) return file;
  say(`installing Python packages into ${venv}`);
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', venv],
    [file, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', join(folder, 'requirements-data.txt')],
  ] as const) {
    const { status } = spawnSync(command, args, { stdio: 'inherit' });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(status)}`);
  }
  return file;
}

interface StatusAddresses {
  readonly kafka: string;
  readonly registry: string;
  readonly clickhouse: string;
  readonly api: string;
  readonly runs: readonly { readonly run_id: string }[];
}

function addresses(): StatusAddresses {
  const { stdout, status } = spawnSync(program[0], [program[1], 'status', '--json'], { encoding: 'utf8' });
  const found = (status === 0 ? JSON.parse(stdout) : {}) as Partial<StatusAddresses>;
  if (!found.api)
    throw new Error('no turnstream runs here; start one with npm start, and give TURNSTREAM_DATA_DIR if it has one of its own');
  return found as StatusAddresses;
}

function tryOne([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise((resolve) => {
    spawn(command, args, { stdio: 'inherit', env })
      .once('error', () => {
        resolve(false);
      })
      .once('close', (code) => {
        resolve(code === 0);
      });
  });
}

const at = addresses();
const env = {
  ...process.env,
  ...{ KAFKA: at.kafka, REGISTRY: at.registry, CLICKHOUSE: at.clickhouse, API: at.api },
  ...{ RUN: flags.run ?? at.runs[0]?.run_id ?? '', NAMESPACE: process.env['TURNSTREAM_NAMESPACE'] ?? 'turnstream' },
  TURNSTREAM: JSON.stringify(program),
};
const scripts = [
  'avro_deserializer.py',
  'fastavro_read.py',
  'kcat.sh',
  'dataframes.py',
  'clickhouse-client.mjs',
  'curl.sh',
  'data_tools.py',
  'prometheus_parser.py',
];
const failed: string[] = [];
for (const script of scripts.filter((name) => name.includes(flags.only))) {
  say(`== ${script}`);
  if (script === 'kcat.sh' && !has('kcat')) say('there is no kcat here: not tried');
  else {
    const interpreter = script.endsWith('.py') ? python() : script.endsWith('.sh') ? 'sh' : process.execPath;
    if (!(await tryOne([interpreter, join(folder, script)], env))) failed.push(script);
  }
}
say(failed.length === 0 ? 'all of them passed' : `FAILED: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
