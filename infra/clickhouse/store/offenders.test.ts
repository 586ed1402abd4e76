import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openOffenders } from './offenders.ts';
import { shapeOf } from './shape.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnstream-test-offenders-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('statements that ended the store', () => {
  it('are refused for ten minutes, whatever their values, also by the next process', () => {
    const path = join(folder, 'ended-by.json');
    let now = 1_000_000;
    const open = () => openOffenders(path, () => now);
    open().add([shapeOf("select f('a', 1)")]);
    const next = open();
    expect(() => {
      next.refuse("SELECT f( 'b', 22 ) -- again");
    }).toThrow(/refused for 10 more min/);
    next.refuse("select g('a', 1)");
    now += 10 * 60_000;
    next.refuse("select f('a', 1)");
  });

  it('are forgotten when the file is broken or cannot be written', () => {
    const path = join(folder, 'ended-by.json');
    for (const text of ['', '{}', '[1, {"hash": 1}]']) {
      writeFileSync(path, text);
      openOffenders(path).refuse('select 1');
    }
    const nowhere = openOffenders(join(folder, 'no', 'such', 'file'));
    nowhere.add(['select ?']);
    expect(() => {
      nowhere.refuse('select 1');
    }).toThrow(/ended the store/);
  });

  it('show no values in their shape', () => {
    expect(shapeOf("select 'secret', 12 /* secret */ from `t` where a = $$secret$$")).toBe('select ? , ? from `t` where a = ?');
  });
});
