// `npm run fuzz:sql -- --statements 10000 [--seed 1]`: sends hostile statements to POST /v1/sql of a local `turnstream up`. For the test a
// second database with a secret is created and removed. Exits with 1 when a statement ran that had to be rejected, when a response
// contained the secret or a line of /etc/passwd, when one took longer than twice its limit, when the store ended and did not answer again
// within 10 s, on any other 5xx, or when a table appeared, disappeared, or lost rows of the secret. `--sweep` instead tries every name of
// the engine at every position, `--costs` every listed function on large inputs, both with an engine of their own.
import { parseArgs } from 'node:util';
import { connectWarehouse } from '../app/open/connections.ts';
import type { ClickHouseStore } from '../clickhouse/client.ts';
import { loadConfig } from '../config/load.ts';
import { readServices, type ConfiguredAddresses } from '../app/open/services-file.ts';
import { generateHostile, hostileParams, type Generated } from '../testing/hostile-sql.ts';
import { seeded } from '../testing/events.ts';
import { flagsOr } from './flags.ts';
import { measureCosts } from './sql-costs.ts';
import { sweepAll } from './sql-sweep.ts';

const HELP = `npm run fuzz:sql -- [flags]

  --statements N  hostile statements for the turnstream that runs here (10000)
  --seed S        which ones (1)
  --lanes L       at the same time (2)
  --sweep         instead: every name of the engine in every position, on an engine of its own
  --costs         instead: every allowed function with large arguments, on an engine of its own
  --only NAME     with --costs: this function alone`;

const flags = flagsOr(
  HELP,
  () =>
    parseArgs({
      options: {
        statements: { type: 'string', default: '10000' },
        seed: { type: 'string', default: '1' },
        lanes: { type: 'string', default: '2' },
        sweep: { type: 'boolean', default: false },
        costs: { type: 'boolean', default: false },
        only: { type: 'string', default: '' },
      },
    }).values,
);
const SECRET = 'sandbox_check.secrets';
const MARK = 'this-is-the-secret';
const RESTART_MS = 10_000;
const BARE_SHARE = 0.25;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const connect = (services: ConfiguredAddresses): ClickHouseStore =>
  connectWarehouse({ ...loadConfig(process.env), clickhouseUrl: services.clickhouseUrl });

async function tables(store: ClickHouseStore): Promise<string> {
  const rows = await store.query<{ name: string }>(
    "select concat(database, '.', name) as name from system.tables where lower(database) not in ('system', 'information_schema') and not startsWith(name, '_tmp') order by name",
  );
  return rows.map(({ name }) => name).join(' ');
}

interface FuzzResponse {
  /** 0: no response. */
  readonly status: number;
  readonly body: string;
}

async function ask(api: string, query: string): Promise<FuzzResponse> {
  const body = JSON.stringify({ query, params: hostileParams(SECRET), format: 'TSV' });
  try {
    const answer = await fetch(`${api}/v1/sql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return { status: answer.status, body: await answer.text() };
  } catch (error) {
    return { status: 0, body: String(error) };
  }
}

class Fuzz {
  readonly statuses = new Map<number, number>();
  readonly problems: string[] = [];
  bare = 0;
  slowestMs = 0;
  storeEnds = 0;
  readonly #api: string;
  readonly #slowMs: number;
  #recovering: Promise<void> | undefined;

  constructor(api: string, maxSeconds: number) {
    this.#api = api;
    this.#slowMs = maxSeconds * 2_000;
  }

  async lane(next: () => Generated | undefined): Promise<void> {
    for (let one = next(); one !== undefined; one = next()) await this.#one(one);
  }

  async #one(one: Generated): Promise<void> {
    await this.#recovering;
    const began = performance.now();
    const { status, body } = await ask(this.#api, one.query);
    const ms = performance.now() - began;
    if (one.bare) this.bare += 1;
    this.slowestMs = Math.max(this.slowestMs, ms);
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    const problem = problemOf(one, status, body);
    const said = JSON.stringify(one.query.slice(0, 500));
    if (problem !== undefined) this.problems.push(`${said} => ${problem.slice(0, 300)}`);
    if (ms > this.#slowMs) this.problems.push(`${said} took ${Math.round(ms)} ms`);
    if (status === 503) await (this.#recovering ??= this.#recover(said));
  }

  /** The store kills itself when a statement exceeds its limits; it must be back soon. */
  async #recover(query: string): Promise<void> {
    const began = performance.now();
    this.storeEnds += 1;
    while ((await ask(this.#api, 'select 1')).status !== 200) {
      if (performance.now() - began > 6 * RESTART_MS) break;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const ms = Math.round(performance.now() - began);
    if (ms > RESTART_MS) this.problems.push(`${query} ended the store for ${ms} ms`);
    this.#recovering = undefined;
  }
}

function problemOf({ refused }: Generated, status: number, body: string): string | undefined {
  if (status === 0 || (status >= 500 && status !== 503)) return `${status}: ${body}`;
  if (body.includes(MARK) || /root:[x*]?:0:/.test(body)) return `it read outside: ${body}`;
  if (refused && (status === 200 || status === 503)) return `it ran: ${status} ${body}`;
  return undefined;
}

async function fuzz(): Promise<boolean> {
  const config = loadConfig(process.env);
  const services = readServices(config.dataDir);
  if (services === undefined)
    throw new Error('no turnstream runs here; start one with npm start, and give TURNSTREAM_DATA_DIR if it has one of its own');
  const store = connect(services);
  await store.command('create database if not exists sandbox_check');
  await store.command(`create or replace table ${SECRET} (line String) engine = MergeTree order by line`);
  await store.command(`insert into ${SECRET} select '${MARK}'`);
  const before = await tables(store);
  const statements = generateHostile(seeded(Number(flags.seed)), SECRET);
  const total = Number(flags.statements);
  let left = total;
  const next = (): Generated | undefined => (left-- > 0 ? statements.next().value : undefined);
  const found = new Fuzz(services.apiUrl, config.sqlMaxSeconds);
  const began = performance.now();
  try {
    await Promise.all(Array.from({ length: Number(flags.lanes) }, () => found.lane(next)));
    if ((await tables(store)) !== before) found.problems.push('a table came or went');
    const [kept] = await store.query<{ n: number }>(`select count() as n from ${SECRET} where line = '${MARK}'`);
    if (Number(kept?.n) !== 1) found.problems.push('the secret was changed');
  } finally {
    await store.command('drop database sandbox_check');
    await store.close();
  }
  if (total >= 1_000 && found.bare < total * BARE_SHARE) found.problems.push('too few statements name something without a parenthesis');
  for (const problem of found.problems.slice(0, 50)) say(`FAILED ${problem}`);
  const statuses = [...found.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} x ${status}`);
  say(
    `${total} statements of seed ${flags.seed} in ${Math.round((performance.now() - began) / 1_000)} s, ` +
      `${((100 * found.bare) / total).toFixed(1)} % with a dangerous name and no parenthesis: ${statuses.join(', ')}; ` +
      `slowest ${Math.round(found.slowestMs)} ms; the store ended ${found.storeEnds} times; ${found.problems.length} problems`,
  );
  return found.problems.length === 0;
}

async function main(): Promise<void> {
  if (flags.sweep) process.exitCode = (await sweepAll(say)) ? 0 : 1;
  else if (flags.costs) process.exitCode = (await measureCosts({ say, only: flags.only })) ? 0 : 1;
  else process.exitCode = (await fuzz()) ? 0 : 1;
}

await main();
