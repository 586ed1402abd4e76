import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRule } from './rule.ts';

const rule = createRule({
  functions: ['file', 'lower', 'format', 'aNewOne'],
  tableFunctions: ['file', 'format', 'url', 'eval', 'numbers', 'values'],
  tableEngines: ['MergeTree', 'ExecutablePool'],
  settings: ['a_new_text'],
});

describe('a statement', () => {
  it.each([
    'select lower(a) from t',
    "select a from t where b = 'x' format JSON",
    'select url, format from t where url is not null',
    'select profile, files, file_name, my_file from numbers(3)',
    'create table t (a String) engine = MergeTree order by a',
  ])('%s is accepted after one scan', (sql) => {
    expect(rule.mustLook(sql)).toBe(false);
  });

  it.each([
    ["select file('x')", 'the function file'],
    ["select arrayMap(file, ['x'])", 'the function file'],
    ["select arrayMap(`file`, ['x'])", 'the function file'],
    ['select aNewOne(1)', 'the function aNewOne'],
    ['select 1 settings a_new_text = 1', 'the setting a_new_text'],
    ["select * from url('x')", 'url(…)'],
    ['select * from eval (1)', 'eval(…)'],
    ["select * from values('a String default file(1)', ('x', 1))", 'values(…)'],
    ["select * from values(('a String default f(1)'), ('x', 1))", 'values(…)'],
    ["select * from format(CSV, 'a', 'b')", 'format(…)'],
    ["select * from format(concat('a', '{'), 'b')", 'format(…)'],
    ["select * from format('{' || 'a', 'b')", 'format(…)'],
    ['create table t (a String) engine = ExecutablePool(1)', 'ExecutablePool(…)'],
    ['create table t (a String) engine = MergeTree settings disk = disk(type = local)', 'disk(…)'],
    ["restore table t from Disk('a', 'b')", 'RESTORE'],
    ["select 1 into outfile 'x'", 'OUTFILE'],
  ])('%s is refused for %s', (sql, part) => {
    expect(rule.mustLook(sql)).toBe(true);
    expect(rule.refused(sql)).toBe(part);
  });

  it.each([
    "select format('{} {}', a, b)",
    "select 'file', ' into outfile ', 'restore'",
    'select url from t',
    'select `numbers` (1)',
    'select * from values((1, 2), (3, 4))',
  ])('%s is not refused', (sql) => {
    expect(rule.refused(sql)).toBeUndefined();
  });

  it('is examined whatever surrounds a refused word', () => {
    const around = fc.string({ unit: fc.constantFrom(...Array.from(' \n\t()[]{}\'"`/*-#;,.=+\\$!%&é\u200b\u00a0')) });
    fc.assert(
      fc.property(around, around, fc.constantFrom('file', 'FILE', 'aNewOne', 'infile', 'backup'), (before, after, word) => {
        expect(rule.mustLook(`select ${before}${word}${after}`)).toBe(true);
      }),
    );
    const between = fc.string({ unit: fc.constantFrom(...Array.from(' \n\t/*-#`"\u200b')) });
    fc.assert(
      fc.property(around, between, fc.constantFrom('url', 'eval', 'format', 'disk'), (before, gap, word) => {
        fc.pre(/^\s*([^\s,);'=<>.\]:]|$)/.test(`${gap}(`));
        expect(rule.mustLook(`select ${before}${word}${gap}(1)`)).toBe(true);
      }),
    );
  });

  it('is examined when a name may be written with escapes', () => {
    expect(rule.mustLook("select arrayMap(`f\\x69le`, ['x'])")).toBe(true);
  });
});
