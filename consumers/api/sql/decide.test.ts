import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAst } from './ast.ts';
import { query, verdict } from './decide.testing.ts';

const fromTable = (...lines: readonly string[]): string =>
  query(
    'SelectQuery (children 2)',
    ' ExpressionList (children 1)',
    '  Asterisk',
    ' TablesInSelectQuery (children 1)',
    '  TablesInSelectQueryElement (children 1)',
    '   TableExpression (children 1)',
    ...lines.map((line) => `    ${line}`),
  );

const expression = (...lines: readonly string[]): string =>
  query('SelectQuery (children 1)', ' ExpressionList (children 1)', ...lines.map((line) => `  ${line}`));

const call = (name: string): string => expression(`Function ${name} (children 1)`, ' ExpressionList');

describe('the syntax tree', () => {
  it('is parsed with names separated from aliases', () => {
    const parsed = parseAst(fromTable('TableIdentifier turns (alias mean reward (%))'));
    expect(JSON.stringify(parsed)).toContain('"kind":"TableIdentifier","payload":"turns"');
    expect(parseAst(expression("Literal 'a (alias x) (b'"))).toMatchObject({ ok: true });
    expect(JSON.stringify(parseAst(expression('Subquery (alias s)')))).toContain('"kind":"Subquery","payload":""');
  });

  it.each([
    ['an empty text', ''],
    ['two roots', 'SelectWithUnionQuery\nSelectWithUnionQuery'],
    ['a root that is indented', ' SelectWithUnionQuery'],
    ['a depth that no node opened', 'SelectWithUnionQuery (children 1)\n   Literal UInt64_1'],
    ['fewer children than declared', 'SelectWithUnionQuery (children 2)\n ExpressionList'],
    ['more children than declared', 'SelectWithUnionQuery (children 1)\n ExpressionList\n ExpressionList'],
    ['children that are not declared', 'SelectWithUnionQuery\n ExpressionList'],
    ['too many nodes', `A (children 30000)\n${' B\n'.repeat(30_000)}`],
  ])('is refused with %s', (_why, text) => {
    expect(parseAst(text).ok).toBe(false);
    expect(verdict(text).allowed).toBe(false);
  });

  it('never throws and never allows what is not the tree of a SELECT', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(verdict(text).allowed).toBe(false);
      }),
    );
  });
});

describe('decisions', () => {
  it.each([
    ['a plain select', expression('Literal UInt64_1')],
    ['a table', fromTable('TableIdentifier turns')],
    ['a table with its database', fromTable('TableIdentifier turnstream.turns (alias t)')],
    ['system.one', fromTable('TableIdentifier system.one')],
    ['a generator', fromTable('Function numbers (children 1)', ' ExpressionList (children 1)', '  Literal UInt64_3')],
    ['a function', call('lower')],
    ['an aggregate with combinators', call('uniqExactArrayIf')],
    [
      'membership in a table of this database',
      expression('Function in (children 1)', ' ExpressionList (children 2)', '  Identifier a', '  Identifier turns'),
    ],
    [
      'membership in values',
      expression('Function in (children 1)', ' ExpressionList (children 2)', '  Identifier a', '  Literal UInt64_1'),
    ],
  ])('allow %s', (_what, text) => {
    expect(verdict(text)).toEqual({ allowed: true });
  });

  it.each([
    ['another statement', 'InsertQuery', 'InsertQuery'],
    ['settings', query('SelectQuery (children 2)', ' ExpressionList (children 1)', '  Literal UInt64_1', ' Set'), 'SETTINGS'],
    ['an unknown kind', query('SelectQuery (children 1)', ' SomethingNew'), 'SomethingNew'],
    ['APPLY', expression('Asterisk (children 1)', ' ColumnsTransformerList (children 1)', '  ColumnsApplyTransformer'), 'APPLY'],
    ['a system table', fromTable('TableIdentifier system.users'), 'system.users'],
    ['a table of another database', fromTable('TableIdentifier other.turns'), 'other.turns'],
    ['a path', fromTable('TableIdentifier /etc/passwd'), '/etc/passwd'],
    ['a path in a database', fromTable('TableIdentifier turnstream./etc/passwd'), '/etc/passwd'],
    ['three parts', fromTable('TableIdentifier turnstream.turns.x'), 'turns.x'],
    ['a table function', fromTable('Function file (children 1)', ' ExpressionList'), 'file'],
    ['a scalar function as a table', fromTable('Function lower (children 1)', ' ExpressionList'), 'lower'],
    ['a table function as a scalar', call('numbers'), 'numbers'],
    ['an unknown function', call('somethingNew'), 'somethingNew'],
    ['an unknown function with a combinator', call('fileIf'), 'fileIf'],
    [
      'membership elsewhere',
      expression('Function globalNotIn (children 1)', ' ExpressionList (children 2)', '  Identifier a', '  Identifier other.x'),
      'other.x',
    ],
  ])('refuse %s', (_what, text, part) => {
    const found = verdict(text);
    expect(found.allowed).toBe(false);
    expect(JSON.stringify(found)).toContain(part);
  });

  it('refuse a function at any depth', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60 }), fc.constantFrom('file', 'url', 'dictGet', 'hostName'), (depth, name) => {
        const nested = Array.from({ length: depth }, (_, level) => `${' '.repeat(level)}ExpressionList (children 1)`);
        const inner = `${' '.repeat(depth)}Function ${name} (children 1)\n${' '.repeat(depth + 5)}ExpressionList`;
        const text = expression(...nested, inner.split('\n')[0] ?? '', ` ${' '.repeat(depth)}ExpressionList`);
        expect(verdict(text)).toMatchObject({ allowed: false });
        expect(verdict(text.replace(`Function ${name}`, 'Function lower'))).toEqual({ allowed: true });
      }),
    );
  });

  it('keep control characters and long names out of messages', () => {
    const found = verdict(fromTable(`TableIdentifier x\u0007.${'y'.repeat(200)}`));
    expect(JSON.stringify(found)).not.toContain('\\u0007');
    expect(JSON.stringify(found).length).toBeLessThan(300);
  });
});
