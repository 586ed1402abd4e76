import { describe, expect, it } from 'vitest';
import type { AuditResult } from '../../../consumers/warehouse/audit.ts';
import type { RebuildProgress } from './rebuild.ts';
import { createProgressLine } from '../views/progress-line.ts';
import { createRebuildLines, renderRebuild } from './rebuild-view.ts';

const storing = (done: number): RebuildProgress => ({ phase: 'storing', done, of: 1_000, detail: '' });

describe('a rebuild', () => {
  it('shows its pace over the last seconds and the time that is left', () => {
    const text = createRebuildLines();
    expect(text({ phase: 'waiting', done: 0, of: 1, detail: '1 running' }, 0)).toBe('waiting for running sinks to stop, 1 running');
    expect(text({ phase: 'emptying', done: 0, of: 0, detail: '' }, 10)).toBe('removing the tables');
    expect(text(storing(0), 1_000)).toBe('storing the log: 0 of 1000 records (0 %), 0 records/s');
    expect(text(storing(100), 2_000)).toBe('storing the log: 100 of 1000 records (10 %), 100 records/s, 9 s left');
    expect(text(storing(100), 9_000)).toContain('0 records/s');
    expect(text({ ...storing(1_000), detail: 'the store\n is down' }, 10_000)).toMatch(/100 %.*, the store is down$/);
    expect(text({ phase: 'auditing', done: 0, of: 0, detail: 'tasks' }, 11_000)).toBe(
      'comparing the log with the tables: 0 of 0 records (100 %), 0 records/s, tasks',
    );
  });

  it('ends with a verdict', () => {
    const audit = { ok: true, records: 10, deadLetters: 1 } as AuditResult;
    const report = { complete: true, records: 10, storeSeconds: 2, auditSeconds: 1, audit };
    expect(renderRebuild(report)).toBe('OK: 10 records stored in 2.0 s (5/s), 10 compared in 1.0 s, 1 dead letters\n');
    expect(renderRebuild({ ...report, audit: { ...audit, ok: false } })).toMatch(/^FAILED: /);
    expect(renderRebuild({ ...report, complete: false, audit: undefined })).toMatch(/^stopped: 10 records .*run the rebuild again\n$/);
  });
});

describe('a line of progress', () => {
  it('is repainted in a terminal and cut to its width', () => {
    const written: string[] = [];
    let now = 0;
    const line = createProgressLine({ isTTY: true, columns: 10, write: (text) => written.push(text) }, () => now);
    line.show('0123456789abc');
    line.show('too soon');
    now = 1_000;
    line.show('later');
    line.end();
    line.end();
    expect(written).toEqual(['\r\u001b[K012345678', '\r\u001b[Klater', '\r\u001b[K']);
  });

  it('is written at intervals when the output is no terminal', () => {
    const written: string[] = [];
    let now = 0;
    const line = createProgressLine({ write: (text) => written.push(text) }, () => now);
    line.show('at once');
    now = 6_000;
    line.show('later');
    line.end();
    expect(written).toEqual(['later\n']);
  });
});
