import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assertDataDir } from './data-dir.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turnstream-data-dir-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const isRoot = process.getuid?.() === 0;
const refused = (path: string): string => {
  try {
    assertDataDir(path);
  } catch (error) {
    expect(error).toMatchObject({ code: 'DATA_DIR_UNUSABLE' });
    return (error as Error).message;
  }
  return '';
};

describe('the data directory', () => {
  it('is usable if it is writable or can be created, and the check leaves nothing in it', () => {
    for (const path of [root, join(root, 'a', 'b', 'c')]) assertDataDir(path);
    mkdirSync(join(root, 'kafka'));
    symlinkSync(join(root, 'kafka'), join(root, 'link'));
    assertDataDir(join(root, 'link'));
    expect(readdirSync(root)).toEqual(['kafka', 'link']);
    expect(readdirSync(join(root, 'kafka'))).toEqual([]);
  });

  it('is refused with its name, the reason and what to do', () => {
    writeFileSync(join(root, 'file'), '');
    symlinkSync(join(root, 'nowhere'), join(root, 'link'));
    const at = (path: string, why: string): string =>
      `using the data directory ${path}: ${why}; set TURNSTREAM_DATA_DIR to a folder that can be written`;
    const file = join(root, 'file');
    expect(refused(file)).toBe(at(file, `${file} is not a folder`));
    expect(refused(join(file, 'below', 'it'))).toBe(at(join(file, 'below', 'it'), `${file} is not a folder`));
    expect(refused(join(root, 'link'))).toBe(at(join(root, 'link'), `${join(root, 'link')} is a link to nothing`));
    expect(refused(join(root, 'x'.repeat(300)))).toContain('(ENAMETOOLONG)');
  });

  it.skipIf(process.platform !== 'linux')('is refused at once where the system allows no folders', () => {
    for (const path of ['/proc', '/proc/turnstream', '/proc/self/a/b', '/proc/1/fd/x', '/dev/null', '/dev/null/x']) {
      expect(refused(path), path).toContain(`using the data directory ${path}: `);
    }
  });

  it.skipIf(isRoot)('is refused where this user may not write (skipped as root, who may)', () => {
    const folder = join(root, 'locked');
    mkdirSync(folder);
    chmodSync(folder, 0o500);
    for (const path of [folder, join(folder, 'below')]) expect(refused(path)).toContain('this user may not write in');
    mkdirSync(join(root, 'home', 'kafka'), { recursive: true });
    chmodSync(join(root, 'home', 'kafka'), 0o500);
    expect(refused(join(root, 'home'))).toContain(`this user may not write in ${join(root, 'home', 'kafka')}`);
    // e.g. the lost+found of a disk
    mkdirSync(join(root, 'disk', 'lost+found'), { recursive: true });
    chmodSync(join(root, 'disk', 'lost+found'), 0o000);
    assertDataDir(join(root, 'disk'));
  });

  it('can be checked at any path, without changes to existing files', () => {
    const name = fc.constantFrom('a', 'file', 'link', 'folder', '..', '.', ' ', 'ü', '*', "'", '%41');
    writeFileSync(join(root, 'file'), 'x');
    mkdirSync(join(root, 'folder'));
    symlinkSync('folder', join(root, 'link'));
    const before = readdirSync(root).sort();
    fc.assert(
      fc.property(fc.array(name, { maxLength: 4 }), (names) => {
        refused([root, ...names].join('/'));
        expect(readdirSync(root).sort()).toEqual(before);
      }),
    );
  });
});
