// Generates thousands of hostile statements from a seed: cores that read outside data or write, embedded and disguised in otherwise
// harmless statements; cores that name something dangerous without calling it; statements that once stalled or crashed the engine, and ones
// that use all the resources they may; and the statements of sql-statements.ts with words dropped, doubled, swapped and spliced. Some of
// the last two kinds are valid, so only their outcome can be checked.
import { hostileStatements } from './hostile-statements.ts';
import { legitimateStatements } from './legitimate-statements.ts';
import type { Random } from '../../streams/core/random.ts';

/** What the generated statements attack; `secret` is a table outside of the project's database. */
const cores = (secret: string): readonly string[] => [
  "select * from file('/etc/passwd', 'LineAsString')",
  "select * from url('http://127.0.0.1:1/', 'LineAsString')",
  "select * from remote('127.0.0.1:1', system.one)",
  "select * from cluster('default', system.tables)",
  "select * from merge('system', '.*')",
  `select * from view(select * from ${secret})`,
  `select * from ${secret}`,
  `select count() from ${secret}`,
  'select name from system.tables',
  'select * from system.settings',
  'select * from INFORMATION_SCHEMA.TABLES',
  "select file('/etc/passwd')",
  "select dictGet('d', 'a', 1)",
  "select joinGet('j', 'a', 1)",
  "select getSetting('max_threads')",
  'select hostName()',
  "select * from executable('id', 'TSV', 'a String')",
  'select 1 settings readonly = 0',
  `select 1 where 1 in ${secret}`,
];

const FUNCTIONS = [
  'file',
  'hostName',
  'currentUser',
  'serverUUID',
  'getSetting',
  'getMacro',
  'getServerSetting',
  'filesystemAvailable',
  'sleep',
  'sleepEachRow',
  'showCertificate',
  'tcpPort',
  'dictGet',
  'joinGet',
  'catboostEvaluate',
  'initializeAggregation',
  'finalizeAggregation',
  'formatRow',
  'editDistance',
  'JSONMergePatch',
  'logTrace',
  'demangle',
];

/** A dangerous name without a parenthesis after it. */
const bareCores: readonly ((name: string, secret: string) => string)[] = [
  (name) => `select arrayMap(${name}, ['/etc/passwd'])`,
  (name) => `select arrayMap(\`${name}\`, ['/etc/passwd'])`,
  (name) => `select arrayMap("${name}", [1], [2])`,
  (name) => `select arrayFilter(${name}, ['/etc/passwd'])`,
  (name) => `select arraySort(${name}, ['/etc/passwd', '/etc/group'])`,
  (name) => `select arrayFold(${name}, ['/etc/passwd'], '')`,
  (name) => `select mapApply(${name}, map('a', '/etc/passwd'))`,
  (name) => `with ${name} as f select arrayMap(f, ['/etc/passwd'])`,
  (name) => `select (select 1 as ${name}), arrayMap(${name}, ['/etc/passwd'])`,
  (name) => `select arrayMap(${name} -> 1, [1]), arrayMap(${name}, ['/etc/passwd'])`,
  (name) => `with ${name} as (select 1) select arrayMap(${name}, ['/etc/passwd'])`,
  (name) => `select arrayMap(${name}, ['/etc/passwd']) from (select 1) as t(${name})`,
  (name) => `select * apply ${name} from steps`,
  (name) => `select columns('run_id') apply ${name} from steps`,
  (name) => `select arrayMap((x -> ${name}), ['/etc/passwd'])`,
  (name) => `select arrayReduce('${name}', ['/etc/passwd'])`,
  (name) => `select arrayReduce('${name}State', [1])`,
  (name) => `select 1 settings ${name} = 1`,
  (_, secret) => `select 1 in ${secret}`,
  (_, secret) => `select ${secret}.line`,
  () => 'select 1 from system.tables',
  () => 'select 1 in system.users',
  () => 'select {column:Identifier} from {table:Identifier}',
  () => "select 'x'::AggregateFunction(sum, UInt8)",
  () => "select CAST('x', 'SimpleAggregateFunction(sum, UInt8)')",
  () => "select CAST('x' as Array(AggregateFunction(groupArray, String)))",
  () => "select accurateCast('x', concat('Aggregate', 'Function(sum, UInt8)'))",
  () => "select JSONExtract('{}', 'a', 'AggregateFunction(sum, UInt8)')",
  () => "select 1 as a order by a collate 'de@collation=phonebook'",
  () => "select toTimezone(now(), 'file:/usr/share/zoneinfo/UTC')",
  () => "select toTimezone(now(), concat('file', ':/usr/share/zoneinfo/UTC'))",
  () => "select arrayMap(toString, [now()], ['file:/usr/share/zoneinfo/UTC'])",
  () => "select '2020-01-01'::DateTime('file:/usr/share/zoneinfo/UTC')",
  () => "with 'file:/usr/share/zoneinfo/UTC' as zone select toHour(now(), zone)",
];

/** Each of these stalled the engine for longer than twice its limit, or crashed it. */
const killers: readonly string[] = [
  `length(JSONMergePatch(concat(repeat('{"a":', 200000), '1', repeat('}', 200000)), '{}'))`,
  `length(jsonMergePatch(concat(repeat(repeat('{"a":', 10000), 20), '1', repeat(repeat('}', 10000), 20)), '{}'))`,
  "editDistance(repeat('a', 60000), repeat('b', 60000))",
  "editDistanceUTF8(repeat(repeat('a', 6000), 10), repeat(repeat('b', 6000), 10))",
  "damerauLevenshteinDistance(repeat('a', 60000), repeat('b', 60000))",
  "jaroWinklerSimilarity(repeat('a', 600000), repeat('b', 600000))",
  "countMatches(repeat(repeat('a', 10000), 1000), 'a.*?b|a')",
  "length(replaceRegexpAll(concat(repeat('a', 10000), repeat(repeat('a', 10000), 900)), 'a.*?b|a', 'x'))",
  'hasAll(range(3000000), arrayReverse(range(3000000)))',
  'arrayFold((acc, x) -> acc + x, range(30000000), toInt64(0))',
  'arrayLevenshteinDistance(range(60000), arrayReverse(range(60000)))',
  'arrayLevenshteinDistanceWeighted(range(60000), range(60000), range(60000), range(60000))',
  'arraySimilarity(range(60000), range(60000), range(60000), range(60000))',
  'seriesDecomposeSTL(arrayMap(x -> sin(x), range(3000000)), 1000)',
  'seriesPeriodDetectFFT(arrayMap(x -> sin(x), range(3000000)))',
  'sleepEachRow(3)',
  "arrayMap(editDistance, [repeat('a', 60000)], [repeat('b', 60000)])",
];

/** Allowed, and limited only by their resource limits. */
const heavy: readonly string[] = [
  'select count() from numbers(1000000000000) where sipHash64(number) = 1',
  'select count() from numbers(1000000) as a, numbers(1000000) as b where a.number = b.number + 1',
  'select length(groupArray(toString(number))) from numbers(1000000000)',
  'with recursive t as (select 1 as n union all select n + 1 from t) select count() from t',
  'select length(range(100000000000))',
  'select number from numbers(10000000000) order by sipHash64(number) limit 3',
  'select 1 as a order by a with fill from 0 to 1000000000000 step 1 limit 100000000000, 1',
];

const holders: readonly ((inner: string) => string)[] = [
  (inner) => `select * from (${inner})`,
  (inner) => `select * from (${inner}) as a, (select 1) as b`,
  (inner) => `select 1 where 1 in (${inner})`,
  (inner) => `select 1 where exists (${inner})`,
  (inner) => `with x as (${inner}) select * from x`,
  (inner) => `with (${inner}) as x select x`,
  (inner) => `with recursive r as (select 1 as n union all (${inner})) select * from r`,
  (inner) => `select (${inner})`,
  (inner) => `select 1 as a union all (${inner})`,
  (inner) => `(${inner}) union distinct select 1`,
  (inner) => `(select 1) intersect (${inner})`,
  (inner) => `(select 1) except (${inner})`,
  (inner) => `select * from turns as t left join (${inner}) as j on 1`,
  (inner) => `select * from turns as t array join [(${inner})] as j`,
  (inner) => `select if(1, (${inner}), null) from steps`,
  (inner) => `select arrayMap(x -> (${inner}), [1])`,
  (inner) => `select 1 order by (${inner})`,
  (inner) => `select count() from steps group by (${inner})`,
  (inner) => `select count() from steps having (${inner}) = 1`,
  (inner) => `select sum(step) over (partition by (${inner})) from steps`,
  (inner) => `select 1 limit (${inner})`,
  (inner) => `select columns('a') apply (x -> (${inner})) from steps`,
  (inner) => `explain ${inner}`,
  (inner) => `insert into turns ${inner}`,
  (inner) => `create table x engine = Memory as ${inner}`,
  (inner) => `select 1; ${inner}`,
  (inner) => `${inner} into outfile '/tmp/x'`,
  (inner) => `${inner} format Null settings max_threads = 1`,
];

const disguises: readonly ((text: string, random: Random) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase().replace('/ETC/PASSWD', '/etc/passwd'),
  (text, random) => text.replace(/ /g, () => (random() < 0.5 ? '/* x */' : '\n')),
  (text, random) => text.replace(/ /g, () => (random() < 0.3 ? ' -- ; select\n' : '\t')),
  (text) => `/* select 1 */ ${text} -- end`,
  (text) => text.replace(/\b(file|url|remote|merge|hostName)\(/g, '`$1`('),
  (text) => text.replace(/\b(file|url|remote|merge|hostName)\(/g, '"$1" ('),
  (text) => text.replace(/system\.(\w+)/g, '`system` . `$1`'),
  (text) => text.replace("'/etc/passwd'", "'\\x2fetc\\x2fpasswd'"),
  (text) => text.replace("'/etc/passwd'", '{path:String}'),
  (text) => text.replace(/from ([\w.]+)$/, 'from {table:Identifier}'),
  (text) => `\uFEFF${text}`,
  (text) => text.replace(/ /g, '\u00A0'),
  (text) => text.replace(/'/g, '\u2019'),
  (text) => `${text}\u0000; drop table turns`,
  (text) => `${text};;`,
];

/** Parameters of every statement. */
export const hostileParams = (secret: string): Readonly<Record<string, string>> => ({
  path: '/etc/passwd',
  table: secret,
  database: 'system',
  column: 'name',
});

function mutated(pick: <T>(list: readonly T[]) => T, random: Random): string {
  const words = pick(hostileStatements).split(/(\s+|[(),])/);
  const other = pick(random() < 0.5 ? hostileStatements : legitimateStatements.map(({ query }) => query)).split(/(\s+|[(),])/);
  for (let times = 1 + Math.floor(random() * 3); times > 0; times -= 1) {
    const at = Math.floor(random() * words.length);
    const kind = Math.floor(random() * 4);
    if (kind === 0) words.splice(at, 1);
    else if (kind === 1) words.splice(at, 0, words[at] ?? '');
    else if (kind === 2) words.splice(at, 1, other[Math.floor(random() * other.length)] ?? '');
    else words.splice(at, words.length - at, ...other.slice(Math.floor(random() * other.length)));
  }
  return words.join('');
}

export interface Generated {
  readonly query: string;
  /** True if it must be rejected; otherwise it may be harmless by chance. */
  readonly refused: boolean;
  /** Its dangerous part is a name without a parenthesis after it. */
  readonly bare: boolean;
}

/** A sequence that depends only on `random`. `secret` is a table outside of the project's database. */
export function* generateHostile(random: Random, secret: string): Generator<Generated, never> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const own = cores(secret);
  const hidden = (core: string): string => {
    let query = core;
    for (let depth = Math.floor(random() * 4); depth > 0; depth -= 1) query = pick(holders)(query);
    return pick(disguises)(query, random);
  };
  for (;;) {
    const kind = random();
    if (kind < 0.3) yield { query: mutated(pick, random), refused: false, bare: false };
    else if (kind < 0.65) yield { query: hidden(pick(bareCores)(pick(FUNCTIONS), secret)), refused: true, bare: true };
    else if (kind < 0.7) yield { query: hidden(`select ${pick(killers)}`), refused: true, bare: false };
    else if (kind < 0.704) yield { query: pick(heavy), refused: false, bare: false };
    else yield { query: hidden(pick(own)), refused: true, bare: false };
  }
}
