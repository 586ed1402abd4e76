import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRowCount } from './row-count.ts';
import { commandOf, isWhole, runSqlPrompt } from './sql-prompt.ts';

describe('the prompt', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnstream-prompt-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const words = async () => ({ tables: new Map([['steps', ['run_id', 'reward_mean']]]), functions: ['count'] });

  function start(run: (statement: string, signal: AbortSignal) => Promise<number | undefined>) {
    const input = new PassThrough();
    const output = new PassThrough();
    output.resume();
    const said: string[] = [];
    const historyFile = join(folder, 'data', 'sql-history');
    const ended = runSqlPrompt({ input, output, err: (text) => said.push(text), terminal: true, historyFile, run, words, now: () => 0 });
    return { input, said, ended, historyFile };
  }

  it('runs statements of several lines, reports rows and time, and continues after a failure', async () => {
    const asked: string[] = [];
    const { input, said, ended } = start(async (statement) => {
      asked.push(statement);
      if (statement.includes('bad')) throw new Error('no such thing');
      return statement.includes('one') ? 1 : statement.includes('many') ? 2 : undefined;
    });
    input.write("select 'a;b', -- not yet;\n1;\nselect one;\nselect many;\nselect bad;\n\\d steps\ntables\nhelp\n\nselect last;\nexit\n");
    await ended;
    expect(asked).toHaveLength(7);
    expect(asked[0]).toBe("select 'a;b', -- not yet;\n1;\n");
    expect(asked[4]).toBe('DESCRIBE TABLE steps');
    expect(asked[5]).toBe('SHOW TABLES');
    const all = said.join('');
    for (const part of ['1 row, 0.000 s', '2 rows, 0.000 s', 'no such thing', 'Ctrl-C']) expect(all).toContain(part);
  });

  it('stops a query or clears the input with Ctrl-C, and leaves with Ctrl-D', async () => {
    const asked: string[] = [];
    const { input, said, ended } = start(
      (statement, signal) =>
        new Promise((resolve, reject) => {
          asked.push(statement);
          if (!statement.includes('slow')) resolve(undefined);
          signal.addEventListener('abort', () => {
            reject(new Error('aborted'));
          });
        }),
    );
    input.write('select slow;\n');
    await vi.waitFor(
      () => {
        expect(asked).toHaveLength(1);
      },
      { timeout: 20_000 },
    );
    input.write('\u0003');
    await vi.waitFor(
      () => {
        expect(said.join('')).toContain('stopped');
      },
      { timeout: 20_000 },
    );
    input.write('select half\n');
    input.write('\u0003');
    input.write('select quick;\n');
    await vi.waitFor(
      () => {
        expect(asked).toHaveLength(2);
      },
      { timeout: 20_000 },
    );
    input.write('\u0004');
    await ended;
    expect(asked[1]).toBe('select quick;\n');
  });

  it('completes tables and columns with Tab, across the lines of a statement', async () => {
    const asked: string[] = [];
    const { input, ended } = start(async (statement) => void asked.push(statement));
    // A tab within pasted text is literal; the Tab key arrives alone.
    for (const typed of ['select * from ste', '\t', '\n', 'where rew', '\t', ' = 1;\n']) {
      input.write(typed);
      await setImmediate();
    }
    await vi.waitFor(
      () => {
        expect(asked).toEqual(['select * from steps\nwhere reward_mean = 1;\n']);
      },
      { timeout: 20_000 },
    );
    input.write('\\q\n');
    await ended;
  });

  it('keeps the history in a file that only its owner can read', async () => {
    const first = start(async () => undefined);
    first.input.write('select 1;\nselect 2;\n\\q\n');
    await first.ended;
    expect(readFileSync(first.historyFile, 'utf8')).toContain('select 1;');
    expect(statSync(first.historyFile).mode & 0o777).toBe(0o600);
    writeFileSync(first.historyFile, 'select old;\n');
    const asked: string[] = [];
    const again = start(async (statement) => void asked.push(statement));
    again.input.write('\u001b[A\r');
    again.input.write('\\q\r');
    await again.ended;
    expect(asked).toEqual(['select old;\n']);
  });

  it('recognizes its own commands and the end of a statement', () => {
    expect(commandOf('\\d')).toMatchObject({ kind: 'sql' });
    expect(commandOf('\\q')).toEqual({ kind: 'leave' });
    expect(commandOf('show tables')).toEqual({ kind: 'sql', sql: 'SHOW TABLES' });
    expect(commandOf('SHOW TABLES;')).toEqual({ kind: 'sql', sql: 'SHOW TABLES' });
    expect(commandOf('select 1')).toBeUndefined();
    expect(commandOf('\\d a; drop')).toBeUndefined();
    for (const text of ['select 1;', "select ';' ;\n", 'select 1; -- done', 'select "a;";']) expect(isWhole(text)).toBe(true);
    for (const text of ['select 1', "select ';", 'select 1 -- ;', 'select /* ; */ 1', "select ';'"]) expect(isWhole(text)).toBe(false);
  });
});

describe('rows of an answer', () => {
  const rowsOf = (format: string, ...parts: readonly string[]): number | undefined => {
    const count = createRowCount(format);
    for (const part of parts) count.take(Buffer.from(part));
    return count.rows();
  };

  it('are counted if the format allows it', () => {
    expect(rowsOf('TSV', 'a\nb', '\nc\n')).toBe(3);
    expect(rowsOf('TSVWithNames', 'n\na\n')).toBe(1);
    expect(rowsOf('PrettyCompact', '   ┌─x─┐\n1. │ 1 │\n', '2. │ 2 │\n   └───┘\n')).toBe(2);
    expect(rowsOf('PrettyCompact', '1000. │ 1 │\nShowed 1000 out of 12345 rows.\n')).toBe(12_345);
    expect(rowsOf('Parquet', 'PAR1\n')).toBeUndefined();
  });

  it('are counted when wide rows are printed as lists, when totals follow, and wherever the bytes are split', () => {
    const shown: readonly (readonly [format: string, rows: number, text: string])[] = [
      ['PrettyCompact', 3, 'Row 1:\n──────\nid: a\nn:  1\n\nRow 2:\n──────\nid: b\nn:  2\n\nRow 3:\n──────\nid: c\nn:  3\n'],
      ['Vertical', 1, 'Row 1:\n──────\nt: Row 2: is no row\nRow 9:\n'],
      ['PrettyCompact', 2, '   ┌─n─┐\n1. │ 0 │\n2. │ 1 │\n   └───┘\n\nTotals:\n   ┌─n─┐\n1. │ 1 │\n   └───┘\n'],
      ['PrettySpace', 3, '    n   t\n\n1.  0   c \n2.  1   a↴\n       ↳b \n3.  2   c \n'],
      ['Pretty', 0, ''],
      ['PrettyCompact', 2, '   ┌─\u001b[1mn\u001b[0m─┐\n\u001b[90m1. \u001b[0m│ 0 │\n\u001b[90m2. \u001b[0m│ 1 │\n   └───┘\n'],
    ];
    for (const [format, rows, text] of shown) {
      const bytes = Buffer.from(text);
      for (let cut = 0; cut <= bytes.length; cut += 1) {
        const count = createRowCount(format);
        for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) count.take(part);
        expect(count.rows(), `${format} cut at ${cut}`).toBe(rows);
      }
    }
  });
});
