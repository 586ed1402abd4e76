import { describe, expect, it } from 'vitest';
import { compatibilityOf } from './compatibility.ts';
import { publishedSchemas } from './generated/events.ts';

const record = (fields: readonly unknown[], name = 'R'): string => JSON.stringify({ type: 'record', name, namespace: 'n', fields });
const a = { name: 'a', type: 'string' };
const withDefault = { name: 'b', type: 'int', default: 0 };
const withoutDefault = { name: 'b', type: 'int' };

describe('FULL_TRANSITIVE', () => {
  it('takes the first version and the same one again', () => {
    expect(compatibilityOf(record([a]), [])).toEqual({ kind: 'compatible' });
    expect(compatibilityOf(record([a]), [record([a])])).toEqual({ kind: 'compatible' });
  });

  it('takes a field with a default, added or removed', () => {
    expect(compatibilityOf(record([a, withDefault]), [record([a])])).toEqual({ kind: 'compatible' });
    expect(compatibilityOf(record([a]), [record([a, withDefault])])).toEqual({ kind: 'compatible' });
  });

  it.each([
    ['a field without default is added', record([a, withoutDefault]), [record([a])], 0],
    ['a field without default is removed', record([a]), [record([a, withoutDefault])], 0],
    ['a type is narrowed', record([{ name: 'a', type: 'int' }]), [record([{ name: 'a', type: 'long' }])], 0],
    ['a type is widened, which old readers cannot read', record([{ name: 'a', type: 'long' }]), [record([{ name: 'a', type: 'int' }])], 0],
    ['the record has another name', record([a], 'S'), [record([a])], 0],
    [
      'only an older version does not fit',
      record([a, withDefault]),
      [record([a, { name: 'b', type: 'string', default: '' }]), record([a])],
      0,
    ],
    ['a later version does not fit', record([a, withDefault]), [record([a]), record([a, { name: 'b', type: 'string', default: '' }])], 1],
  ] as const)('refuses when %s', (...row) => {
    const [, candidate, versions, version] = row;
    expect(compatibilityOf(candidate, versions)).toMatchObject({ kind: 'incompatible', version });
  });

  const inner = (type: string): object => ({ type: 'record', name: 'I', fields: [{ name: 'z', type }] });
  it.each([
    ['b', withoutDefault, { name: 'c', type: 'int', default: 0 }],
    ['a.z', { name: 'a', type: inner('int') }, { name: 'a', type: inner('string') }],
    ['a.[].z', { name: 'a', type: { type: 'array', items: inner('int') } }, { name: 'a', type: { type: 'array', items: inner('string') } }],
    ['a.{}', { name: 'a', type: { type: 'map', values: 'int' } }, { name: 'a', type: { type: 'map', values: 'string' } }],
    ['a', { name: 'a', type: ['null', 'int'] }, { name: 'a', type: 'string' }],
  ])('names the field that does not fit: %s', (path, candidate, before) => {
    const outcome = compatibilityOf(record([candidate]), [record([before])]);
    expect(outcome).toMatchObject({ kind: 'incompatible', reason: expect.stringContaining(`field ${path}: `) as string });
  });

  it('reports a text that is not a schema', () => {
    expect(compatibilityOf('{', [])).toMatchObject({ kind: 'invalid' });
    expect(compatibilityOf('{"type":"nothing"}', [])).toMatchObject({ kind: 'invalid' });
    expect(compatibilityOf(record([a]), ['{'])).toMatchObject({ kind: 'incompatible', version: 0 });
  });

  it('holds among all published versions of each event', () => {
    for (const { name, schema } of publishedSchemas) {
      const versions = publishedSchemas.filter((other) => other.name === name).map((other) => other.schema);
      expect(compatibilityOf(schema, versions), name).toEqual({ kind: 'compatible' });
    }
  });
});
