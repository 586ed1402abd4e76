// Every position of a statement where a name can stand, for the sweep over all names of the engine (sql-sweep.ts).

export interface SqlPosition {
  readonly position: string;
  readonly write: (name: string) => string;
  /** Only in the full sweep: CI covers the position in another form. */
  readonly rare?: true;
  /** Declares the name within the statement, which is allowed unless the engine has a function with that name. */
  readonly declares?: true;
  /** Reads the column or table with that name, if the project's database has one. */
  readonly reads?: true;
  /** The name after the change that this position makes to it; the statement is skipped if that name is on a list. */
  readonly as?: (name: string) => string;
}

const text = (name: string): string => `'${name.replace(/[\\']/g, '\\$&')}'`;
const name = (of: string): string => `\`${of.replace(/[\\`]/g, '\\$&')}\``;

/** Positions of a function call, or of a bare name that could act as one. */
export const functionPositions: readonly SqlPosition[] = [
  { position: 'call', write: (n) => `select ${name(n)}('/etc/passwd')` },
  { position: 'bare name', write: (n) => `select ${name(n)}`, rare: true, reads: true },
  { position: 'higher-order argument', write: (n) => `select arrayMap(${name(n)}, ['/etc/passwd'])` },
  {
    position: 'alias declared elsewhere',
    write: (n) => `select (select 1 as ${name(n)}), arrayMap(${name(n)}, ['/etc/passwd'])`,
    declares: true,
  },
  { position: 'call in upper case', write: (n) => `select ${name(n.toUpperCase())}('/etc/passwd')`, rare: true },
  { position: 'call in lower case', write: (n) => `select ${name(n.toLowerCase())}('/etc/passwd')`, rare: true },
  { position: 'call without arguments', write: (n) => `select "${n}"()`, rare: true },
  { position: 'aggregate', write: (n) => `select ${name(n)}(step) from steps`, rare: true },
  { position: 'aggregate with parameters', write: (n) => `select ${name(n)}(1)(step) from steps`, rare: true },
  { position: 'aggregate with -If', write: (n) => `select ${name(`${n}If`)}(step, 1) from steps`, rare: true, as: (n) => `${n}If` },
  { position: 'window function', write: (n) => `select ${name(n)}(step) over (order by step) from steps`, rare: true },
  { position: 'higher-order, two arrays', write: (n) => `select arrayMap(${name(n)}, ['a'], ['b'])`, rare: true },
  { position: 'filter', write: (n) => `select arrayFilter(${name(n)}, ['/etc/passwd'])`, rare: true },
  { position: 'sort key', write: (n) => `select arraySort(${name(n)}, ['/etc/passwd'])`, rare: true },
  { position: 'fold', write: (n) => `select arrayFold(${name(n)}, ['/etc/passwd'], '')`, rare: true },
  { position: 'map', write: (n) => `select mapApply(${name(n)}, map('a', '/etc/passwd'))`, rare: true },
  { position: 'alias of the name', write: (n) => `with ${name(n)} as f select arrayMap(f, ['/etc/passwd'])`, rare: true },
  {
    position: 'column of a subquery',
    write: (n) => `select arrayMap(${name(n)}, ['a']) from (select 1 as ${name(n)})`,
    rare: true,
    declares: true,
  },
  {
    position: 'parameter of another lambda',
    write: (n) => `select arrayMap(${name(n)} -> 1, [1]), arrayMap(${name(n)}, ['a'])`,
    rare: true,
    declares: true,
  },
  {
    position: 'query of WITH',
    write: (n) => `with ${name(n)} as (select 1) select arrayMap(${name(n)}, ['a'])`,
    rare: true,
    declares: true,
  },
  { position: 'alias of a table', write: (n) => `select arrayMap(${name(n)}, ['a']) from steps as ${name(n)}`, rare: true, declares: true },
  {
    position: 'alias of a column',
    write: (n) => `select arrayMap(${name(n)}, ['a']) from (select 1) as t(${name(n)})`,
    rare: true,
    declares: true,
  },
  { position: 'inside of a lambda', write: (n) => `select arrayMap(x -> ${name(n)}(x), ['/etc/passwd'])`, rare: true },
  { position: 'lambda of WITH', write: (n) => `with (x -> ${name(n)}(x)) as f select f('/etc/passwd')`, rare: true },
  { position: 'right of IN', write: (n) => `select 'a' in ${name(n)}`, rare: true, reads: true },
  { position: 'right of IN, call', write: (n) => `select 'a' in (${name(n)}('/etc/passwd'))`, rare: true },
  { position: 'ORDER BY', write: (n) => `select 1 order by ${name(n)}('/etc/passwd')`, rare: true },
  { position: 'LIMIT', write: (n) => `select 1 limit ${name(n)}('/etc/passwd')`, rare: true },
  { position: 'OVER', write: (n) => `select sum(1) over (partition by ${name(n)}('/etc/passwd'))`, rare: true },
  { position: 'named window', write: (n) => `select sum(1) over w window w as (order by ${name(n)}('/etc/passwd'))`, rare: true },
  { position: 'parameter of an aggregate', write: (n) => `select quantile(${name(n)}('/etc/passwd'))(1)`, rare: true },
  { position: 'REPLACE', write: (n) => `select * replace (${name(n)}('/etc/passwd') as step) from steps`, rare: true },
  { position: 'APPLY', write: (n) => `select columns('run_id') apply ${name(n)} from steps`, rare: true },
  { position: 'WITH FILL', write: (n) => `select 1 as a order by a with fill from ${name(n)}('/etc/passwd')`, rare: true },
  { position: 'INTERPOLATE', write: (n) => `select 1 as a, 2 as b order by a with fill interpolate (b as ${name(n)}('x'))`, rare: true },
  { position: 'ARRAY JOIN', write: (n) => `select 1 array join [${name(n)}('/etc/passwd')] as a`, rare: true },
  { position: 'JOIN', write: (n) => `select 1 from steps as a join steps as b on ${name(n)}('/etc/passwd') = a.run_id`, rare: true },
  { position: 'GROUPING SETS', write: (n) => `select 1 from steps group by grouping sets ((${name(n)}('/etc/passwd')))`, rare: true },
  { position: 'argument of a table function', write: (n) => `select * from numbers(${name(n)}('/etc/passwd'))`, rare: true },
  { position: 'VALUES', write: (n) => `select * from (values (${name(n)}('/etc/passwd')))`, rare: true },
];

export const aggregatePositions: readonly SqlPosition[] = [
  { position: 'aggregate with a combinator', write: (n) => `select ${name(n)}(step) from steps` },
];

/** Positions where a string literal names a function. */
export const namedInText: readonly SqlPosition[] = [
  { position: 'arrayReduce', write: (n) => `select arrayReduce(${text(n)}, [1])` },
  { position: 'arrayReduce with -If', write: (n) => `select arrayReduce(${text(`${n}If`)}, [1], [1])`, rare: true },
];

export const namedInTypes: readonly SqlPosition[] = [
  { position: 'initializeAggregation', write: (n) => `select initializeAggregation(${text(n)}, 1)`, rare: true },
  { position: 'a type of state', write: (n) => `select CAST('' as AggregateFunction(${n}, String))` },
];

export const tableFunctionPositions: readonly SqlPosition[] = [
  { position: 'table function', write: (n) => `select * from ${name(n)}('/etc/passwd')` },
  { position: 'table function without arguments', write: (n) => `select * from ${name(n)}()` },
  { position: 'right of IN', write: (n) => `select 1 in (select * from ${name(n)}('/etc/passwd'))` },
  { position: 'in upper case', write: (n) => `select * from ${name(n.toUpperCase())}('/etc/passwd')` },
  { position: 'JOIN', write: (n) => `select * from steps as a join ${name(n)}('/etc/passwd') as b on 1` },
];

export const typePositions: readonly SqlPosition[] = [
  { position: 'CAST AS', write: (n) => `select CAST('1' as ${n})` },
  { position: 'CAST', write: (n) => `select CAST('1', ${text(n)})` },
  { position: '::', write: (n) => `select '1'::${n}` },
  { position: 'inner type', write: (n) => `select '[]'::Array(Nullable(${n}))` },
  { position: 'element of a tuple', write: (n) => `select CAST('', 'Tuple(a ${n})')`, rare: true },
  { position: 'parameter', write: (n) => `select {path:${n}}` },
  { position: 'accurateCastOrNull', write: (n) => `select accurateCastOrNull('1', ${text(n)})`, rare: true },
  { position: 'reinterpret', write: (n) => `select reinterpret('1', ${text(n)})`, rare: true },
  { position: 'JSONExtract', write: (n) => `select JSONExtract('{}', 'a', ${text(n)})` },
  { position: 'dynamicElement', write: (n) => `select dynamicElement('1'::Dynamic, ${text(n)})`, rare: true },
  { position: 'subcolumn', write: (n) => `with '{}'::JSON as j select j.a.:\`${n}\`` },
];

export const settingPositions: readonly SqlPosition[] = [
  { position: 'SETTINGS', write: (n) => `select 1 settings ${n} = 1` },
  { position: 'SETTINGS of a subquery', write: (n) => `select * from (select 1 settings ${n} = 1)`, rare: true },
  { position: 'getSetting', write: (n) => `select getSetting(${text(n)})`, rare: true },
  { position: 'bare name', write: (n) => `select ${name(n)}`, reads: true },
];

export const formatPositions: readonly SqlPosition[] = [
  { position: 'FORMAT', write: (n) => `select 1 format ${n}` },
  { position: 'formatRow', write: (n) => `select formatRow(${text(n)}, 1)` },
  { position: 'table function', write: (n) => `select * from format(${n}, 'x')` },
];

export const collationPositions: readonly SqlPosition[] = [
  { position: 'COLLATE', write: (n) => `select 1 as a order by a collate ${text(n)}` },
];

export const tablePositions: readonly SqlPosition[] = [
  { position: 'table', write: (n) => `select * from system.${name(n)}` },
  { position: 'right of IN', write: (n) => `select 1 in system.${name(n)}` },
  { position: 'column', write: (n) => `select system.${name(n)}.name` },
];
