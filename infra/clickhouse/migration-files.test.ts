import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMigration, readMigrations, splitStatements } from './migration-files.ts';

describe('statements', () => {
  it('end at semicolons outside of strings, names and comments', () => {
    const text = "-- first;\ncreate table a (x String default ';'); /* ; */ ;\n\nselect `;` -- no end\n";
    expect(splitStatements(text)).toEqual(["create table a (x String default ';')", 'select `;`']);
    expect(splitStatements(' -- nothing\n')).toEqual([]);
  });

  it('have a checksum that comments and layout do not change, and anything else does', () => {
    const sum = (text: string): string => parseMigration(1, 'x', text).checksum;
    expect(sum('select 1;\n-- x\nselect  2')).toBe(sum('select 1 ; select /* y */ 2;'));
    expect(sum("select ' a'")).not.toBe(sum("select 'a'"));
    expect(sum('select 1; select 2')).not.toBe(sum('select 2; select 1'));
  });
});

describe('files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstream-test-migrations-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('come in the order of their numbers', async () => {
    await writeFile(join(folder, '0010-b.sql'), 'select 2');
    await writeFile(join(folder, '0002-a.sql'), 'select 1');
    await writeFile(join(folder, 'notes.md'), '');
    expect((await readMigrations(folder)).map(({ number, name }) => [number, name])).toEqual([
      [2, '0002-a'],
      [10, '0010-b'],
    ]);
  });

  it('are rejected when a name is invalid or a number occurs twice', async () => {
    await writeFile(join(folder, '0001-a.sql'), '');
    await writeFile(join(folder, '0001-b.sql'), '');
    await expect(readMigrations(folder)).rejects.toMatchObject({ code: 'MIGRATION_MISMATCH' });
    await writeFile(join(folder, 'first.sql'), '');
    await expect(readMigrations(folder)).rejects.toThrow(/first\.sql is not named/);
  });

  it('of this version are numbered from 1 without gaps', async () => {
    expect((await readMigrations()).map(({ number }, at) => number === at + 1)).not.toContain(false);
  });
});
