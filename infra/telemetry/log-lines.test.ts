import { mkdtempSync, openSync, readFileSync, rmSync, type write } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { logLinesTo } from './log-lines.ts';

type Callback = (error: NodeJS.ErrnoException | null, written: number) => void;

/** A descriptor that completes writes on request. */
function descriptor() {
  const asked: { readonly text: string; readonly answer: Callback }[] = [];
  const writeTo = (_fd: number, bytes: Buffer, answer: Callback): void => void asked.push({ text: bytes.toString(), answer });
  return { asked, writeTo: { write: writeTo as unknown as typeof write } };
}

const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });

describe('log lines', () => {
  it('are written in order, even after a partial write', () => {
    const { asked, writeTo } = descriptor();
    const lines = logLinesTo(2, writeTo);
    for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line);
    expect(asked.map(({ text }) => text)).toEqual(['one\n']);
    asked[0]?.answer(null, 2);
    asked[1]?.answer(null, 2);
    asked[2]?.answer(null, 10);
    expect(asked.map(({ text }) => text)).toEqual(['one\n', 'e\n', 'two\nthree\n']);
    lines.write('four\n');
    expect(asked.at(-1)?.text).toBe('four\n');
  });

  it('that a full disk refuses are dropped and counted, and the next ones are tried', () => {
    const { asked, writeTo } = descriptor();
    const lines = logLinesTo(2, writeTo);
    for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line);
    asked[0]?.answer(full, 0);
    asked[1]?.answer(full, 0);
    expect(asked).toHaveLength(2);
    lines.write('four\n');
    expect(asked[2]?.text).toMatch(/"dropped":3,"msg":"log lines were dropped"\}\nfour\n$/);
  });

  it('are limited in size while nothing can be written', () => {
    const { asked, writeTo } = descriptor();
    const lines = logLinesTo(2, writeTo);
    for (let count = 0; count < 100; count += 1) lines.write(`${'x'.repeat(99_999)}\n`);
    asked[0]?.answer(null, 100_000);
    expect(asked[1]?.text.length).toBeLessThan(4_300_000);
    expect(asked[1]?.text.startsWith('{"level":40,')).toBe(true);
  });

  it('are not written twice at the end, when Node completes the write in flight', () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnstream-test-lines-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    const path = join(folder, 'log');
    const file = openSync(path, 'w');
    const { asked, writeTo } = descriptor();
    const lines = logLinesTo(file, writeTo);
    for (const line of ['one\n', 'two\n']) lines.write(line);
    lines.flushSync();
    expect(readFileSync(path, 'utf8')).toBe('two\n');
    asked[0]?.answer(null, 4);
    lines.write('three\n');
    asked[1]?.answer(Object.assign(new Error('again'), { code: 'EAGAIN' }), 0);
    lines.flushSync();
    expect(readFileSync(path, 'utf8')).toBe('two\nthree\n');
  });
});
