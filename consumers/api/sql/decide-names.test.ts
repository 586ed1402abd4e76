import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import { isAllowedFunction, isAllowedTableFunction } from './functions.ts';
import { lines, query, verdict, vocabulary } from './decide.testing.ts';

/** `f(a, b)` as the tree shows it; an argument may be a tree. */
const callOf = (name: string, ...args: readonly string[]): string =>
  [`Function ${name} (children 1)`, ` ExpressionList (children ${args.length})`, ...args.flatMap(lines).map((line) => `  ${line}`)].join(
    '\n',
  );

const selecting = (...items: readonly string[]): string =>
  query('SelectQuery (children 1)', ` ExpressionList (children ${items.length})`, ...items.flatMap(lines).map((line) => `  ${line}`));

describe('names', () => {
  it.each([
    ['a column', 'Identifier reward'],
    ['a column with its table', 'Identifier turns.reward'],
    ['an element of a column', 'Identifier a.b.c'],
    ['an allowed function for a lambda', callOf('arrayMap', 'Identifier lower', 'Identifier a')],
    ['a parameter of a lambda', callOf('lambda', callOf('tuple', 'Identifier x'), 'Identifier x')],
    ['a plain type behind a path', 'Identifier a.b.:`Int64`'],
    ['a name of WITH', 'Identifier kept'],
    ['a column with the name of a function', callOf('plus', 'Identifier tokens', 'Identifier tokens')],
  ])('allow %s', (_what, item) => {
    expect(decide(selecting(item), { database: 'turnstream', vocabulary, declared: ['kept'] })).toEqual({ allowed: true });
  });

  it.each([
    ['a function that is not allowed', 'Identifier file', '"file", which stands for a function'],
    ['such a function for a lambda', callOf('arrayMap', 'Identifier file', 'Identifier a'), '"file", which stands for a function'],
    ['such a function under an alias', 'Identifier file (alias f)', '"file", which stands for a function'],
    ['a function whose arguments are checked', callOf('arrayMap', 'Identifier toHour', 'Identifier a', 'Identifier a'), '"toHour" without'],
    ['a state behind a path', 'Identifier a.b.:`AggregateFunction(sum, Int8)`', 'the type in'],
    [
      'a column with the name of a function for a lambda',
      callOf('arrayMap', 'Identifier tokens', 'Identifier a'),
      '"tokens", which stands',
    ],
    ['a column of another database', 'Identifier other.a', '"other.a"'],
  ])('refuse %s', (_what, item, part) => {
    expect(verdict(selecting(item))).toMatchObject({ allowed: false, part: expect.stringContaining(part) as string });
  });

  it('do not allow a function because a statement declares its name elsewhere', () => {
    const inner = ['Literal UInt64_1 (alias file)', callOf('arrayMap', 'Identifier file', "Literal Array_['/etc/passwd']")];
    expect(verdict(selecting(...inner))).toMatchObject({ allowed: false });
    expect(verdict(selecting('Literal UInt64_1 (alias mine)', 'Identifier mine'))).toEqual({ allowed: true });
    expect(verdict(selecting("Literal 'x (alias mine)'", 'Identifier mine'))).toMatchObject({ allowed: false, unknown: true });
  });

  it.each([
    ['a function', ['Identifier file (alias f)']],
    ['a column with the name of a function', ['Identifier tokens (alias f)']],
    ['a function whose arguments are checked', ['Identifier repeat (alias f)']],
    ['an alias of such a column', ['Identifier f1 (alias f)', 'Identifier tokens (alias f1)']],
  ])('that alias %s are refused as a lambda', (_what, named) => {
    expect(verdict(selecting(...named, callOf('arrayMap', 'Identifier f', 'Identifier a')))).toMatchObject({ allowed: false });
    const allowed = named.every((item) => !item.includes('file'));
    expect(verdict(selecting(...named, callOf('plus', 'Identifier f', 'Identifier a'))).allowed).toBe(allowed);
  });

  it('that alias a column or an allowed function are allowed as a lambda', () => {
    for (const named of ['Identifier reward (alias f)', 'Identifier lower (alias f)'])
      expect(verdict(selecting(named, callOf('arrayMap', 'Identifier f', 'Identifier a')))).toEqual({ allowed: true });
  });

  it('that a statement declares do not count as columns', () => {
    const made = callOf('repeat', "Literal 'a'", 'Literal UInt64_9 ').split('\n');
    const search = callOf('countMatches', 'Identifier reward', "Literal 'x'");
    expect(verdict(selecting(search))).toEqual({ allowed: true });
    expect(verdict(selecting(made.join('\n').replace('Function repeat', 'Function repeat (alias reward)'), search))).toMatchObject({
      allowed: false,
    });
  });

  it('that are unknown are reported with similar ones', () => {
    expect(verdict(selecting('Identifier rewards'))).toMatchObject({
      unknown: true,
      instead: expect.stringContaining('"reward"') as string,
    });
  });

  it('that are declared nowhere are never allowed', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-zA-Z]{0,12}$/), (name) => {
        const allowed = isAllowedFunction(name) || vocabulary.names.has(name) || /^(?:all|system|number|dummy|zero|c\d+)$/.test(name);
        expect(verdict(selecting(`Identifier ${name}`)).allowed).toBe(allowed);
      }),
    );
  });
});

describe('arguments that name something', () => {
  it.each([
    callOf('CAST', 'Identifier a', "Literal 'Array(Nullable(String))'"),
    callOf('toHour', 'Identifier a', "Literal 'Europe/Berlin'"),
    callOf('toStartOfInterval', 'Identifier a', callOf('toIntervalDay', 'Literal UInt64_1'), "Literal 'UTC'"),
    callOf('toDateTime', 'Identifier a', 'Literal UInt64_6', "Literal 'America/Argentina/Buenos_Aires'"),
    callOf('arrayReduce', "Literal 'quantiles(0.5, 0.9)'", 'Identifier a'),
    callOf('repeat', 'Identifier a', 'Literal UInt64_100'),
    callOf('hasAny', 'Identifier a', "Literal Array_['x']"),
    callOf('countMatches', 'Identifier turns.reward', "Literal 'x'"),
    callOf('extractAll', callOf('lower', 'Identifier reward'), "Literal 'x'"),
    callOf('extractAll', callOf('left', callOf('concat', 'Identifier a'), 'Literal UInt64_1000'), "Literal 'x'"),
    callOf('JSONExtract', 'Identifier a', "Literal 'k'", "Literal 'Tuple(a Int8, b String)'"),
  ])('are allowed: %s', (item) => {
    expect(verdict(selecting(item))).toEqual({ allowed: true });
  });

  it.each([
    callOf('CAST', 'Identifier a', "Literal 'AggregateFunction(sum, Int8)'"),
    callOf('CAST', 'Identifier a', "Literal 'Array(SimpleAggregateFunction(sum, Int8))'"),
    callOf('CAST', 'Identifier a', "Literal 'DateTime(\\'file:/etc/passwd\\')'"),
    callOf('accurateCast', 'Identifier a', callOf('concat', "Literal 'Int'", "Literal '8'")),
    callOf('toHour', 'Identifier a', "Literal 'file:/etc/passwd'"),
    callOf('toHour', 'Identifier a', "Literal '/etc/passwd'"),
    callOf('toHour', 'Identifier a', 'Identifier reward'),
    callOf('toHour', 'Asterisk'),
    callOf('arrayReduce', "Literal 'sumState'", 'Identifier a'),
    callOf('arrayReduce', 'Identifier reward', 'Identifier a'),
    callOf('repeat', 'Identifier a', 'Literal UInt64_1000000'),
    callOf('repeat', 'Identifier a', 'Identifier reward'),
    callOf('hasAll', 'Identifier a', 'Identifier reward'),
    callOf('countMatches', callOf('repeat', 'Identifier a', 'Literal UInt64_9'), "Literal 'x'"),
    callOf('replaceRegexpAll', callOf('left', 'Identifier a', 'Literal UInt64_1000000'), "Literal 'x'", "Literal 'y'"),
    callOf('splitByRegexp', "Literal 'x'", callOf('concat', 'Identifier a', 'Identifier a')),
    callOf('JSONExtract', 'Identifier a', "Literal 'k'", "Literal 'Dynamic(max_types=1)'"),
  ])('are refused: %s', (item) => {
    expect(verdict(selecting(item))).toMatchObject({ allowed: false });
  });
});

describe('functions', () => {
  const outside =
    'file url s3 gcs hdfs remote remoteSecure cluster executable dictGet dictGetString dictHas joinGet catboostEvaluate getSetting getMacro ' +
    'hostName FQDN currentUser serverUUID filesystemAvailable sleep sleepEachRow aiGenerate aiEmbed addressToLine logTrace formatRow regionToName ' +
    'showCertificate getClientHTTPHeader hasColumnInTable generateSerialID evalMLMethod aggThrow __getScalar JSONMergePatch editDistance arrayFold arrayLevenshteinDistance seriesDecomposeSTL sumState sumMerge zookeeperSessionUptime tcpPort';
  it.each(outside.split(' '))('%s is not allowed', (name) => {
    expect(isAllowedFunction(name)).toBe(false);
    expect(isAllowedFunction(name.toUpperCase())).toBe(false);
    expect(isAllowedFunction(`${name}If`)).toBe(false);
    expect(isAllowedTableFunction(name)).toBe(false);
  });
  it.each(
    'count sumIf quantileTDigestIf COUNT avgOrNull groupArrayDistinct lower JSONExtractString arrayMap lambda exists grouping in plus'.split(
      ' ',
    ),
  )('%s is allowed', (name) => {
    expect(isAllowedFunction(name)).toBe(true);
  });
});
