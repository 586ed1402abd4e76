// `npm run fuzz:sql -- --costs [--only name]`: calls every allowed function through the sandbox, with a limit of 2 s and with arguments as
// large as the memory of a query allows. A function that the engine does not stop within twice the limit, or that crashes the engine, does
// not belong on the list, or its arguments need a limit.
import { createSandbox, type SqlSandbox } from '../../consumers/api/sql/sandbox.ts';
import { isAllowedAggregate, isAllowedFunction } from '../../consumers/api/sql/functions.ts';
import { connectStore } from '../clickhouse/client.ts';
import { startTestStore } from '../testing/store.ts';
import { isPlatformError } from '../../streams/core/errors.ts';

const LIMIT_MS = 2_000;
const OVER_MS = 2 * LIMIT_MS;
/** After this time the engine is killed. */
const GIVE_UP_MS = 12_000;
const TRIED = 3;
const TELL_MS = 30_000;

/** An argument: small, to test whether the function accepts it, and large. */
type Argument = readonly [small: string, large: string];

const LETTERS = 'arrayStringConcat(arrayMap(x -> char(97 + x * 7919 % 26, 32 + x % 90), range(2000000)))';
const values: readonly Argument[] = [
  ["materialize('aab')", `materialize(${LETTERS})`],
  ["materialize(['a', 'b'])", 'materialize(arrayMap(x -> hex(cityHash64(x)), range(1000000)))'],
  ["materialize('ab')", "materialize(repeat(repeat('ab', 10000), 1500))"],
  ["'[[{}]]'", "concat(repeat(repeat('[', 10000), 20), repeat(repeat(']', 10000), 20))"],
  ['materialize([1, 2])', 'materialize(range(3000000))'],
  ['materialize([1.5, 2.5])', 'materialize(arrayMap(x -> sin(x), range(1000000)))'],
  ["materialize(map('a', 'b'))", 'materialize(mapFromArrays(arrayMap(x -> hex(x), range(300000)), arrayMap(x -> hex(x), range(300000))))'],
  ["'a.*?b|a'", "'a.*?b|a'"],
  ['5', '1000000'],
  ['materialize(7)', 'materialize(9223372036854775807)'],
  ['x -> x', 'x -> x'],
  ['(x, y) -> x', '(x, y) -> x'],
];
const columns: readonly Argument[] = [
  ['number', 'number'],
  ['hex(number)', 'hex(sipHash64(number))'],
  ['toFloat64(number)', 'sin(number)'],
  ['number % 2', 'number % 2'],
  ['[number]', 'range(number % 100)'],
  ['map(number, number)', 'map(number % 1000, number)'],
];

interface Costs {
  readonly say: (text: string) => void;
  /** Restricts the test to one function. */
  readonly only: string;
}

/** False when a function exceeded its limit. */
export async function measureCosts({ say, only }: Costs): Promise<boolean> {
  const engine = await startTestStore();
  const store = connectStore({ url: engine.url, database: 'default' });
  const sandbox = createSandbox(store, {
    maxSeconds: LIMIT_MS / 1_000,
    maxRows: 100_000,
    maxResultBytes: 64_000_000,
    maxMemoryBytes: 1_000_000_000,
    concurrency: 1,
    maxWaitMs: 1_000,
  });
  const over = new Set<string>();
  let statements = 0;
  try {
    const names = await store.query<{ name: string }>("select name from system.functions where alias_to = '' order by name");
    const listed = names.map(({ name }) => name).filter((name) => isAllowedFunction(name) && (only === '' || name === only));
    let toldAtMs = performance.now();
    for (const [at, name] of listed.entries()) {
      if (performance.now() - toldAtMs >= TELL_MS) {
        toldAtMs = performance.now();
        say(`${at} of ${listed.length} functions, ${statements} statements; now ${name}`);
      }
      for (const query of await largeStatements(sandbox, name)) {
        statements += 1;
        const ms = await timed(sandbox, query, GIVE_UP_MS);
        if (ms < OVER_MS) continue;
        over.add(name);
        say(`FAILED ${name}: ${ms >= GIVE_UP_MS ? 'did not end' : `took ${Math.round(ms)} ms`}: ${query}`);
        if (ms >= GIVE_UP_MS) await restart(engine);
      }
    }
    say(`${listed.length} functions, ${statements} statements: ${over.size} functions overran ${OVER_MS} ms`);
    return over.size === 0;
  } finally {
    await store.close();
    await engine.kill();
    await engine.stop();
  }
}

async function restart(engine: { kill(): Promise<void>; restart(): Promise<void> }): Promise<void> {
  await engine.kill();
  await engine.restart();
}

/** For each number of arguments, the large statements whose small counterparts are valid. */
async function largeStatements(sandbox: SqlSandbox, name: string): Promise<readonly string[]> {
  const isAggregate = isAllowedAggregate(name);
  const write = (args: readonly string[], rows: number): string =>
    isAggregate ? `select ignore(\`${name}\`(${args.join(', ')})) from numbers(${rows})` : `select ignore(\`${name}\`(${args.join(', ')}))`;
  const found: string[] = [];
  for (const count of [1, 2, 3]) {
    let taken = 0;
    for (const args of combinations(isAggregate ? columns : values, count)) {
      if (taken >= TRIED) break;
      if (
        !(await isTaken(
          sandbox,
          write(
            args.map(([small]) => small),
            10,
          ),
        ))
      )
        continue;
      taken += 1;
      found.push(
        write(
          args.map(([, large]) => large),
          1_000_000,
        ),
      );
    }
  }
  return found;
}

function* combinations(of: readonly Argument[], count: number): Generator<readonly Argument[]> {
  if (count === 0) yield [];
  else for (const first of of) for (const rest of combinations(of, count - 1)) yield [first, ...rest];
}

async function isTaken(sandbox: SqlSandbox, query: string): Promise<boolean> {
  return sandbox.run({ query, params: {}, format: 'TSV' }).then(
    () => true,
    () => false,
  );
}

/** Its duration, ms; at least `giveUpMs` when it did not end or crashed the engine. */
async function timed(sandbox: SqlSandbox, query: string, giveUpMs: number): Promise<number> {
  const began = performance.now();
  try {
    await sandbox.run({ query, params: {}, format: 'TSV', signal: AbortSignal.timeout(giveUpMs) });
  } catch (error) {
    if (!isPlatformError(error, 'SQL_LIMIT') && !isPlatformError(error, 'SQL_INVALID') && !isPlatformError(error, 'SQL_REFUSED'))
      return giveUpMs;
  }
  return performance.now() - began;
}
